/* The fair lock's queue with a head that dies: every waiter gets the lock, the order is kept, and
 * no waiter polls without a pause.
 *
 * Each waiter takes the lock once. One of them dies at any moment: in the queue, at its head after
 * the message, or while it holds. Any message may be lost. Time is ticks: none passes while a
 * living waiter has something to do, so a waiter that polls without a pause stops the clock.
 */

#define WAITERS  3
#define NONE     255
#define LEASE    3
#define PTTL     (lease / 2)         /* it counts in units larger than a tick, and rounds down */
#define PATIENCE 6
#define THIRD    2
#define GONE     255                 /* waits for nothing any more */
#define LONGEST_HOLD 4

#define renewable(who) (held == who && !dead[who] && lease < LEASE)
#define hopes(who)     (waiting[who] && !dead[who])
#define idles(who)     ((dead[who] || rest[who] > 0) && !renewable(who))

/* The server: the lock and its lease, the line, and for how long each place counts as alive. */
byte held = NONE;
byte lease;
chan line = [WAITERS] of { byte };
byte alive[WAITERS];
bool placed[WAITERS];

/* The waiters: ticks until each asks again, or has to release. */
byte rest[WAITERS];
bool dead[WAITERS];
byte ended;

/* To judge by: who came before chosen, and for how many ticks a free lock has been waited for. */
byte arrivals;
byte arrival[WAITERS];
bool waiting[WAITERS];
byte idle;

inline head_of_line(chosen) {
  if
  :: nempty(line) -> line?<chosen>
  :: else -> chosen = NONE
  fi
}

/* _fair_lock/head.lua: drops those at the head whose time is over, but for the one that asks. */
inline drop_the_dead(head, asks) {
  head_of_line(head);
#ifndef A_DEAD_HEAD_STAYS
  do
  :: head != NONE && head != asks && alive[head] == 0 ->
     line?_;
     placed[head] = false;
     head_of_line(head)
  :: else -> break
  od
#endif
}

/* _fair_lock/place.lua: a place, and when it could be the asking one's turn. */
inline take_place(free) {
  if
  :: !placed[me] -> line!me; placed[me] = true; alive[me] = PATIENCE
  :: else ->
#ifndef A_PLACE_IS_NOT_KEPT_FRESH
     alive[me] = PATIENCE
#endif
  fi;
  free = PTTL;
  for (other : 0 .. WAITERS - 1) {
    if
    :: placed[other] && arrival[other] < arrival[me] && alive[other] > free -> free = alive[other]
    :: else
    fi
  }
  other = 0
}

/* It came now, if it was not there before. */
inline arrive() {
  if
  :: !waiting[me] -> waiting[me] = true; arrival[me] = arrivals; arrivals++
  :: else
  fi
}

inline grant() {
  placed[me] = false;
  waiting[me] = false;
  held = me;
  lease = LEASE;
  idle = 0;
  for (other : 0 .. WAITERS - 1) {   /* no living waiter was overtaken */
    assert(!waiting[other] || dead[other] || arrival[other] > arrival[me])
  }
  other = 0
}

proctype Waiter(byte me) {
  byte head, free, other;
  do
  :: atomic {                        /* fair_lock/acquire.lua */
       rest[me] == 0 && !dead[me] ->
       arrive();
       drop_the_dead(head, me);
       if
#ifdef A_FREE_LOCK_IS_FOR_ANY_WAITER
       :: held == NONE ->
          if
          :: placed[me] -> line??eval(me)
          :: else
          fi;
#else
       :: held == NONE && (head == NONE || head == me) ->
          if
          :: head == me -> line?_
          :: else
          fi;
#endif
          grant();
          head = 0;
          break
       :: else ->
          take_place(free);
          rest[me] = (free < THIRD -> free : THIRD);
#ifndef A_REST_MAY_BE_NOTHING
          if
          :: rest[me] == 0 -> rest[me] = 1
          :: else
          fi;
#endif
          head = 0;
          free = 0
       fi
     }
  :: dead[me] -> goto finished
  od;

  rest[me] = LONGEST_HOLD;
  do
  :: atomic { renewable(me) -> lease = LEASE }
  :: atomic {                        /* fair_lock/release.lua */
       !dead[me] ->
       held = NONE;
       lease = 0;
       drop_the_dead(head, NONE);
       if
       :: head != NONE && !dead[head] -> rest[head] = 0
       :: true                       /* the message is lost, or has no receiver */
       fi;
       head = 0;
       break
     }
  :: dead[me] -> break
  od;

finished:
  atomic { rest[me] = GONE; ended++ }
}

proctype Death() {                   /* of one of them, or of none */
  byte who;
  select(who : 0 .. WAITERS - 1);
  if
  :: atomic { rest[who] != GONE -> dead[who] = true }
  :: true
  fi
}

proctype Clock() {
  byte who;
end:
  do
  :: atomic {
       idles(0) && idles(1) && idles(2) && ended < WAITERS ->
       for (who : 0 .. WAITERS - 1) {
         if
         :: rest[who] > 0 && rest[who] != GONE -> rest[who]--
         :: else
         fi;
         if
         :: alive[who] > 0 -> alive[who]--
         :: else
         fi
       }
       who = 0;
       if
       :: lease > 0 -> lease--
       :: else
       fi;
       if
       :: lease == 0 ->
          held = NONE;
          idle = (hopes(0) || hopes(1) || hopes(2) -> idle + 1 : 0)
       :: else
       fi;
       assert(idle <= PATIENCE + THIRD)
     }
  od
}

init {
  atomic {
    byte waiter;
    for (waiter : 0 .. WAITERS - 1) { run Waiter(waiter) }
    run Death();
    run Clock()
  }
}

ltl every_waiter_ends { <> (ended == WAITERS) }
