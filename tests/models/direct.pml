/* A release grants the lock to a waiter of another client: who believes such a grant has the lock.
 *
 * Two owners of two clients take the lock again and again, by attempts and by grants, and one of
 * them may give up while it waits. Any step may take as long as it likes: a process that is stopped,
 * a message that is late. Clients that wait for the usual message alone compete when it comes. Time is
 * the server's and the clients'; the margins of trust are left out.
 */

#define OWNERS 2
#define LEASE  2                     /* of a grant */
#define END    4                     /* the clock's last tick */
#define ROUNDS 2
#define MOST   1                     /* hand-overs in a row */
#define NONE   255

byte time;

/* The server. */
byte held = NONE;
byte expires;
byte places;                         /* numbers used */
byte place[OWNERS];                  /* in line; 0: not */
byte turns;

chan grants[OWNERS] = [4] of { byte };
bool news[OWNERS];
byte passed_by;                      /* hand-overs since the last message for all */

/* The clients. */
bool believes[OWNERS];
byte until[OWNERS];

inline publish() {
  news[0] = true;
  news[1] = true;
  passed_by = 0
}

/* lua/direct_lock/acquire.lua; `reply`: the place, 0: granted */
inline acquire(me) {
  if
  :: held == NONE || held == me ->
     held = me;
     expires = time + LEASE;
#ifndef A_GRANT_LEAVES_THE_PLACE
     place[me] = 0;
#endif
     reply = 0
  :: else ->
     places++;
     place[me] = places;
     reply = places
  fi
}

/* lua/direct_lock/release.lua */
inline release(me) {
  if
  :: held == me ->
     next = NONE;
     if
     :: place[0] > 0 && (place[1] == 0 || place[0] < place[1]) -> next = 0
     :: place[1] > 0 && (place[0] == 0 || place[1] < place[0]) -> next = 1
     :: else
     fi;
     if
#ifdef HAND_OVERS_ARE_NOT_BOUNDED
     :: next != NONE ->
#else
     :: next != NONE && turns < MOST ->
#endif
        assert(next != me);
        held = next;
        expires = time + LEASE;
        grants[next]!place[next];
        place[next] = 0;
        turns++;
        passed_by++;
        assert(passed_by <= MOST)
     :: else ->
        held = NONE;
        turns = 0;
        publish()
     fi;
     next = 0
  :: else ->
     place[me] = 0
  fi
}

proctype Owner(byte me) {
  byte attempted, reply, known, next, granted;
  byte rounds = ROUNDS;
attempt:
  atomic { attempted = time; news[me] = false }
  atomic { acquire(me); known = expires }
  if
  :: atomic { reply == 0 -> until[me] = attempted + LEASE; goto mine }
  :: reply > 0
  fi;
  if
  :: atomic {                        /* AcquireMachine::granted_by_release */
       grants[me]?granted ->
       if
#ifdef A_GRANT_OF_AN_EARLIER_PLACE_IS_BELIEVED
       :: time < attempted + LEASE ->
#else
       :: granted == reply && time < attempted + LEASE ->
#endif
          granted = 0;
#ifdef A_GRANT_IS_TRUSTED_FROM_ITS_ARRIVAL
          until[me] = time + LEASE;
#else
          until[me] = attempted + LEASE;
#endif
          goto mine
       :: else -> granted = 0; goto attempt
       fi
     }
  :: atomic { news[me] -> goto attempt }
  :: atomic { time >= known -> goto attempt }
  :: atomic { me == 0 -> goto leaves }
  :: atomic { time == END -> goto leaves }
  fi;

mine:
  atomic { believes[me] = true; reply = 0; known = 0; attempted = 0 }
  atomic { believes[me] = false; until[me] = 0 }
  atomic { release(me) }
  rounds--;
  if
  :: rounds > 0 && time < END -> goto attempt
  :: else -> goto over
  fi;

leaves:                              /* its release follows its attempts: AcquireMachine::finish */
#ifndef A_LEAVER_KEEPS_ITS_PLACE
  atomic { release(me) }
#endif
over:
  assert(held != me && place[me] == 0)
}

proctype Clock() {
  do
  :: atomic {
       time < END ->
       time++;
       if
       :: held != NONE && time >= expires -> held = NONE
       :: else
       fi
     }
  :: time == END -> break
  od
}

proctype Watch() {
  /* At any moment. */
  assert(!(believes[0] && time < until[0] && held != 0) &&
         !(believes[1] && time < until[1] && held != 1))
}

init {
  atomic {
    byte owner;
    for (owner : 0 .. OWNERS - 1) { run Owner(owner) }
    run Clock();
    run Watch()
  }
}
