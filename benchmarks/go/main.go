// The Go contenders: `bench peer=rueidislock|redsync mode=… port=… …`, see ../README.md.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	peers := map[string]func(words) openLock{"rueidislock": openRueidislock, "redsync": openRedsync}
	modes := map[string]func(words, openLock){
		"pair": pair, "throughput": throughput, "contend": contend,
		"hold": hold, "wake": wake, "watchdog": watchdog,
	}
	w := parseWords()
	modes[w["mode"]](w, peers[w["peer"]](w))
}

func pairFor(l lock, duration time.Duration) []int64 {
	samples := []int64{}
	begin := now()
	for end := begin + int64(duration); begin < end; {
		l.acquire()
		l.release()
		done := now()
		samples = append(samples, done-begin)
		begin = done
	}
	return samples
}

func pair(w words, open openLock) {
	l := open(w["name"])
	ready()
	moment()
	pairFor(l, w.seconds("warmup", 0))
	result(map[string]any{"samples_ns": pairFor(l, w.seconds("seconds", 1))})
}

// inParallel runs the body in as many goroutines, and returns when all have ended.
func inParallel(count int, body func(worker int)) {
	var all sync.WaitGroup
	for worker := 0; worker < count; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			body(worker)
		}(worker)
	}
	all.Wait()
}

func throughput(w words, open openLock) {
	ready()
	moment()
	begin := now() + int64(w.seconds("warmup", 0))
	end := begin + int64(w.seconds("seconds", 1))
	pairs := make([]int, w.int("workers", 1))
	inParallel(len(pairs), func(worker int) {
		l := open(fmt.Sprintf("%s:%d", w["name"], worker))
		count := 0
		for at := now(); at < end; at = now() {
			l.acquire()
			l.release()
			if at >= begin {
				count++
			}
		}
		pairs[worker] = count
	})
	total := 0
	for _, count := range pairs {
		total += count
	}
	result(map[string]any{"pairs": total, "seconds": w.float("seconds", 1)})
}

func contend(w words, open openLock) {
	grants := make([][]int64, w.int("workers", 1))
	most, pause := 2*w.int("grants", 0), time.Duration(w.int("hold_us", 0))*time.Microsecond
	ready()
	until := moment()
	inParallel(len(grants), func(worker int) {
		l := open(w.lockName(worker))
		seen := []int64{}
		for now() < until && (most == 0 || len(seen) < most) {
			l.acquire()
			seen = append(seen, now())
			if pause > 0 {
				time.Sleep(pause)
			}
			seen = append(seen, now())
			l.release()
		}
		grants[worker] = seen
	})
	result(map[string]any{"grants": grants, "note": stallNote()})
}

func hold(w words, open openLock) {
	held := []lock{}
	for worker := 0; worker < w.int("locks", 1); worker++ {
		l := open(w.lockName(worker))
		l.acquire()
		held = append(held, l)
		time.Sleep(time.Duration(w.int("stagger_ms", 0)) * time.Millisecond)
	}
	ready()
	moment()
	released := now()
	for _, l := range held {
		l.release()
	}
	result(map[string]any{"released_ns": released})
}
