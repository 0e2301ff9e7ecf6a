package main

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// A lock belongs to one goroutine.
type lock interface {
	acquire()
	release()
}

type openLock func(name string) lock

// stalls counts the waits of rueidislock that had to be cut short.
var stalls atomic.Int64

type rueidisLock struct {
	locker rueidislock.Locker
	name   string
	stall  time.Duration
	cancel context.CancelFunc
}

// acquire begins its wait anew after a while: a waiter of rueidislock can sleep for ever beside a
// lock that is free, as it waits for a notification without a timer.
func (l *rueidisLock) acquire() {
	for {
		ctx, giveUp := context.WithCancel(context.Background())
		timer := time.AfterFunc(l.stall, giveUp)
		_, cancel, err := l.locker.WithContext(ctx, l.name)
		if timer.Stop() {
			check(err)
			l.cancel = cancel
			return
		}
		if err == nil {
			cancel()
		}
		stalls.Add(1)
	}
}

func (l *rueidisLock) release() { l.cancel() }

// openRueidislock uses one key for a lock, as its documentation advises for one server.  NOLOOP is
// off, its default and the faster, but for many locks held at once: there each renewal would be
// notified to the one who sent it, and answered by another.  TryNextAfter is 5 s: with the default
// of 20 ms a slow reply is taken for a lock held by another.
func openRueidislock(w words) openLock {
	validity := w.seconds("lease", 5)
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{"127.0.0.1:" + w["port"]}},
		KeyMajority:    1,
		KeyValidity:    validity,
		ExtendInterval: w.extendInterval(validity),
		NoLoopTracking: w["mode"] == "watchdog",
		TryNextAfter:   5 * time.Second,
	})
	check(err)
	return func(name string) lock {
		return &rueidisLock{locker: locker, name: name, stall: w.longestWait()}
	}
}

// longestWait is far longer than the mode makes anybody wait: seconds where a waiter waits for a
// whole crowd or a dead holder, a moment elsewhere.
func (w words) longestWait() time.Duration {
	if w.int("grants", 0) != 0 {
		return 10 * time.Second
	}
	return 100 * time.Millisecond
}

// extendInterval is each third of the lease under test, else rueidislock's own half.
func (w words) extendInterval(validity time.Duration) time.Duration {
	if w["mode"] == "watchdog" {
		return validity / 3
	}
	return 0
}

type redsyncLock struct{ mutex *redsync.Mutex }

func (l *redsyncLock) acquire() { check(l.mutex.Lock()) }

func (l *redsyncLock) release() {
	released, err := l.mutex.Unlock()
	check(err)
	if !released {
		check(fmt.Errorf("redsync: %s was not held", l.mutex.Name()))
	}
}

// openRedsync keeps redsync's defaults, but for the number of tries: it may wait without limit.
func openRedsync(w words) openLock {
	pools := []redis.Pool{}
	for _, port := range w.ports() {
		client := goredislib.NewClient(&goredislib.Options{Addr: "127.0.0.1:" + port})
		pools = append(pools, goredis.NewPool(client))
	}
	sync := redsync.New(pools...)
	expiry := redsync.WithExpiry(w.seconds("lease", 30))
	return func(name string) lock {
		return &redsyncLock{sync.NewMutex(name, expiry, redsync.WithTries(math.MaxInt32))}
	}
}
