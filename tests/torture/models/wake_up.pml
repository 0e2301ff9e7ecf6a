/* Subscribe, then try again: no wake-up is lost.
 *
 * A client with two waiters, one of which may give up at any moment, and a holder of another
 * client. The holder's lease never ends here and no waiter looks at a clock: only messages wake.
 * A waiter that stays asleep beside a free lock can do nothing any more: an invalid end state.
 */

#define WAITERS 2
#define impatient (me == 0)
#define NONE    255
#define UNSEEN  255
#define OTHER   200

mtype = { confirmed, message };

/* The server. */
byte held = OTHER;
bool listening;                      /* it knows the subscription */
chan stream = [8] of { mtype };      /* what it tells the subscriber, in order */

/* WaitRegistry: a queue, all of it under one lock. */
bool wanted;                         /* the subscription has been asked for */
bool subscribed;
byte sequence;
chan waiters = [WAITERS] of { byte };

/* What others see of a waiter. */
bool signalled[WAITERS];
bool asleep[WAITERS];
bool over[WAITERS];
bool granted[WAITERS];
byte ended;

byte breaks = 1;                     /* of the stream, still to come */

inline free_and_publish() {
  held = NONE;
  if
  :: listening -> stream!message
  :: else
  fi
}

inline choose_head(chosen) {
  if
  :: nempty(waiters) -> waiters?<chosen>
  :: else -> chosen = NONE
  fi
}

/* Calls::run: the waiter was chosen under the lock, is called without it, and may have left by then. */
inline tell(chosen) {
  do
  :: atomic { chosen == NONE -> break }
  :: atomic {
       chosen != NONE && over[chosen] ->
       if
       :: granted[chosen] -> chosen = NONE
       :: else ->
#ifdef A_LEAVER_KEEPS_ITS_NEWS
          chosen = NONE
#else
          choose_head(chosen)          /* WaitRegistry::not_for */
#endif
       fi
     }
  :: atomic {
       chosen != NONE && !over[chosen] ->
#ifdef NEWS_DURING_AN_ATTEMPT_ARE_IGNORED
       signalled[chosen] = asleep[chosen];
#else
       signalled[chosen] = true;
#endif
       chosen = NONE
     }
  od
}

/* WaitRegistry::leave; `trying`: an attempt or a signal of it is still open. */
inline leave(trying) {
  choose_head(head);
  next = NONE;
  seen = 0;
  over[me] = true;
  if
  :: joined ->
     waiters??eval(me);
#ifndef A_SIGNAL_LEAVES_WITH_ITS_WAITER
     if
     :: head == me && (trying) -> choose_head(next)
     :: else
     fi
#endif
  :: else
  fi;
  head = 0;
  signalled[me] = false;
  asleep[me] = false
}

proctype Waiter(byte me) {
  byte seen, head, next;
  bool joined;

attempt:
  atomic {                           /* Contended::attempt */
    asleep[me] = false;
    signalled[me] = false;
    seen = (subscribed -> sequence : UNSEEN)
  }
  if
  :: atomic { held == NONE -> held = me; goto won }
  :: held != NONE                  /* refused; the answer is on its way */
  :: atomic { impatient -> leave(true); goto cancelled }
  fi;
#ifdef THE_SEQUENCE_IS_READ_AFTER_THE_ATTEMPT
  seen = (subscribed -> sequence : UNSEEN);
#endif
  if
  :: atomic {                        /* WaitRegistry::join */
       !joined ->
       joined = true;
       wanted = true;
       waiters!me;
       choose_head(head);
       if
       :: head == me && subscribed && seen != sequence -> seen = 0; head = 0; goto attempt
       :: else -> seen = 0; head = 0; asleep[me] = true
       fi
     }
  :: atomic {                        /* AcquireMachine::held */
       joined ->
       if
       :: signalled[me] -> goto attempt
       :: else -> asleep[me] = true
       fi
     }
  :: atomic { impatient -> leave(signalled[me]); goto gone }    /* its time was up */
  fi;
  if
  :: signalled[me] -> goto attempt
  :: atomic { impatient && !signalled[me] -> leave(false); goto gone }
  fi;

won:
  atomic { granted[me] = true; leave(signalled[me]) }
  tell(next);
  atomic { free_and_publish() }
  goto finished;

cancelled:                           /* the attempt is under way; its undo follows it */
  tell(next);
  if
  :: atomic { held == NONE -> held = me }
     atomic { free_and_publish() }
  :: held != NONE
  fi;
  goto finished;

gone:
  tell(next);

finished:
  ended++
}

proctype Holder() {                  /* of another client; it may come back for the lock */
  byte rounds = 1;
  do
  :: atomic { held == OTHER -> free_and_publish(); rounds-- }
  :: atomic { rounds > 0 && held == NONE -> held = OTHER }
  :: atomic { held != OTHER -> break }
  od
}

proctype Server() {                  /* executes SUBSCRIBE, and UNSUBSCRIBE without waiters */
end:
  do
  :: atomic { wanted && !listening -> listening = true; stream!confirmed }
  od
}

proctype Subscriber() {
  byte head;
end:
  do
  :: atomic {
       stream?confirmed ->
       subscribed = wanted;
       sequence++;
#ifdef NO_ATTEMPT_ONCE_SUBSCRIBED
       head = NONE
#else
       choose_head(head)
#endif
     }
     tell(head)
  :: atomic { stream?message -> sequence++; choose_head(head) }
     tell(head)
  :: atomic {                        /* the stream breaks, with all that is on its way */
       breaks > 0 ->
       breaks--;
       listening = false;
       do
       :: nempty(stream) -> stream?_
       :: empty(stream) -> break
       od
     }
  :: atomic {                        /* WaitRegistry::released: no waiter is left */
       wanted && empty(waiters) -> wanted = false; subscribed = false; listening = false; sequence = 0
     }
  od
}

init {
  atomic {
    byte waiter;
    run Holder();
    run Server();
    run Subscriber();
    for (waiter : 0 .. WAITERS - 1) { run Waiter(waiter) }
  }
  (ended == WAITERS && held == NONE);
  assert(empty(waiters))
}
