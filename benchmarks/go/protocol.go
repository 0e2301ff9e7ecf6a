package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// words are the key=value arguments.
type words map[string]string

func parseWords() words {
	found := words{}
	for _, word := range os.Args[1:] {
		key, value, _ := strings.Cut(word, "=")
		found[key] = value
	}
	if found["name"] == "" {
		found["name"] = "bench"
	}
	return found
}

func (w words) int(key string, fallback int) int {
	return int(w.float(key, float64(fallback)))
}

func (w words) float(key string, fallback float64) float64 {
	text, given := w[key]
	if !given {
		return fallback
	}
	value, err := strconv.ParseFloat(text, 64)
	check(err)
	return value
}

func (w words) seconds(key string, fallback float64) time.Duration {
	return time.Duration(w.float(key, fallback) * float64(time.Second))
}

// ports are those of the servers of a lock over several; else the one server's.
func (w words) ports() []string {
	if w["ports"] == "" {
		return []string{w["port"]}
	}
	return strings.Split(w["ports"], ",")
}

func (w words) lockName(worker int) string {
	if w.int("own", 0) != 0 {
		return fmt.Sprintf("%s:%d", w["name"], worker)
	}
	return w["name"]
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// now is CLOCK_MONOTONIC in ns, the same for every process of the machine.
func now() int64 {
	var at unix.Timespec
	check(unix.ClockGettime(unix.CLOCK_MONOTONIC, &at))
	return at.Nano()
}

func sleepUntil(moment int64) {
	time.Sleep(time.Duration(moment - now()))
}

func result(values map[string]any) {
	check(json.NewEncoder(os.Stdout).Encode(values))
}

func stallNote() string {
	if count := stalls.Load(); count > 0 {
		return fmt.Sprintf("%d waits slept beside a free lock and were begun anew", count)
	}
	return ""
}

func ready() {
	result(map[string]any{"ready": true})
}

// moment waits for the runner's word to go on.
func moment() int64 {
	var value int64
	_, err := fmt.Scanln(&value)
	check(err)
	return value
}
