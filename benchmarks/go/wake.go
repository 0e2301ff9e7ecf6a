package main

import (
	"fmt"
	"math"
)

// acquirers is how many goroutines take the watchdog's locks.
const acquirers = 64

// wake runs rounds on a timetable: the holder takes the lock, the waiter asks, the holder releases.
func wake(w words, open openLock) {
	l := open(w["name"])
	l.acquire()
	l.release()
	period, ask := int64(w.int("period_us", 0))*1000, int64(w.int("ask_us", 0))*1000
	spread := w.float("spread_us", 0) * 1000
	begun, done := []int64{}, []int64{}
	ready()
	start := moment()
	for i := 0; i < w.int("rounds", 1); i++ {
		slot := start + int64(i)*period
		if w["role"] == "waiter" {
			sleepUntil(slot + ask)
			begun = append(begun, now())
			l.acquire()
		} else {
			sleepUntil(slot)
			l.acquire()
			begun = append(begun, now())
			// The golden ratio spreads the releases evenly over the spread.
			_, turn := math.Modf(float64(i) * 0.618034)
			sleepUntil(slot + 2*ask + int64(turn*spread))
		}
		done = append(done, now())
		l.release()
	}
	result(map[string]any{"begun": begun, "done": done, "note": stallNote()})
}

// watchdog takes many locks and holds them until the process is killed.
func watchdog(w words, open openLock) {
	first := open(w["name"] + ":first")
	first.acquire()
	first.release()
	ready()
	moment()
	held := make([]lock, w.int("locks", 1))
	inParallel(acquirers, func(worker int) {
		for i := worker; i < len(held); i += acquirers {
			held[i] = open(fmt.Sprintf("%s:%d", w["name"], i))
			held[i].acquire()
		}
	})
	result(map[string]any{"held": len(held)})
	moment()
}
