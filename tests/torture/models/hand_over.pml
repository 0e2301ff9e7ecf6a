/* A lock is handed over within a client: in bounds, so that another client gets in, and what was
 * handed to an owner that has left is given back.
 *
 * The owners of one client take the lock again and again, as an owner of another client does. One
 * of the first may give up and leave. Commands of a client are executed in the order in which they
 * are sent. Who holds back does so until the other client has heard the message and has the lock.
 */

#define OWNERS 3
#define MOST   2                     /* hand-overs in a row */
#define NONE   255
#define OTHER  200

#ifdef HAND_OVERS_ARE_NOT_BOUNDED
#define in_bounds true
#else
#define in_bounds (handovers < MOST)
#endif

mtype = { transfer, release, undo };

/* The server, and the client's connection to it: command, owner, next. */
byte held = NONE;
bool news;                           /* for the other client: it is free */
chan line = [4] of { mtype, byte, byte };

/* WaitRegistry. */
chan waiters = [OWNERS] of { byte };
byte handovers;
bool fairness_yield;                       /* this client lets others go first */

bool offered[OWNERS];                /* a hand-over to it is under way */
bool has[OWNERS];
bool left[OWNERS];

bool other_waits;
byte passed_by;                      /* hand-overs since the other client has begun to wait */

/* Contended::accept_offer: sent while the next waiter cannot leave. */
inline offer(heir) {
  offered[heir] = true;
  handovers++;
  passed_by = (other_waits -> passed_by + 1 : 0);
  /* The round in which it came, whose end may not know of it, another, and a vain offer. */
  assert(passed_by <= 2 * MOST + 1);
#ifndef AN_OFFER_IS_SENT_WHEN_ITS_HEIR_MAY_HAVE_LEFT
  line!transfer, me, heir
#endif
}

proctype Owner(byte me) {
  byte heir;
  do
  :: atomic { !left[me] -> waiters!me }
     if
     :: atomic {                     /* the head tries, unless it is the others' turn */
          waiters?[eval(me)] && !offered[me] && !fairness_yield && held == NONE ->
          held = me;
          has[me] = true
        }
     :: has[me]                      /* it was handed over */
     :: atomic {                     /* it gives up: its undo follows whatever is under way */
          me == 0 && !has[me] ->
          left[me] = true;
          waiters??eval(me);
          if
          :: offered[me] -> line!undo, me, NONE
          :: else
          fi;
          break
        }
     fi;
     atomic { waiters??eval(me); heir = NONE }
     atomic {                        /* WaitRegistry::next_waiter */
       has[me] = false;
       if
       :: len(waiters) > 0 && in_bounds -> waiters?<heir>; offer(heir)
       :: else ->
          handovers = 0;
#ifndef NO_COURTESY
          fairness_yield = other_waits;
#endif
          line!release, me, NONE
       fi
     }
#ifdef AN_OFFER_IS_SENT_WHEN_ITS_HEIR_MAY_HAVE_LEFT
     if
     :: heir != NONE -> line!transfer, me, heir
     :: else
     fi
#endif
  :: left[me] -> break
  od
}

proctype Server() {
  byte from, next;
end:
  do
  :: atomic {                        /* transfer.lua; the answer reaches an heir that is there */
       line?transfer, from, next ->
       held = next;
       offered[next] = false;
       has[next] = !left[next];
       from = 0;
       next = 0
     }
  :: atomic { line?release, from, _ -> held = NONE; news = true; from = 0 }
  :: atomic {                        /* release.lua, for the undo */
       line?undo, from, _ ->
       if
       :: held == from -> held = NONE; news = true
       :: else
       fi;
       from = 0
     }
  od
}

proctype Other() {
end:
  do
  :: atomic { held == NONE -> held = OTHER }
     atomic { held = NONE }
  :: atomic { held != NONE -> other_waits = true; passed_by = 0; news = false }
     do
     :: atomic {
          news ->
          news = false;
          if
          :: held == NONE ->
             held = OTHER;
             fairness_yield = false;
             other_waits = false;
             passed_by = 0;
             break
          :: else
          fi
        }
     od;
     atomic { held = NONE }
  od
}

init {
  atomic {
    byte owner;
    for (owner : 0 .. OWNERS - 1) { run Owner(owner) }
    run Server();
    run Other()
  }
}

ltl the_other_client_gets_in { [] (other_waits -> <> (!other_waits)) }
