/* Releases that are not awaited: a loss that is found late is reported once and leaves the next hold
 * alone, close() waits for the answers, and other clients have their turn.
 *
 * Alice's thread acquires and releases without a pause, and leaves each release once it is written. A
 * thread of her client reads the answers. An owner of another client waits for the lock now and then. Once
 * the key is deleted by hand. One connection keeps the order.
 */

#define ROUNDS 5                     /* Alice's holds: her attempts have their numbers */
#define TURNS  2                     /* of the other client */

#define NO_OWNER 0
#define ALICE  1
#define OTHER  2

mtype = { attempt, release, granted, held, done, nothing };

/* The server. */
byte owner = NO_OWNER;
byte by;                             /* the hold of Alice's */
byte deleted;                        /* the hold that was */
bool subscribed;                     /* the other client waits */
bool news;
byte passed_by;                      /* grants of Alice's meanwhile */

/* The connection of Alice's client; the last word of a reply: others were subscribed. */
chan line = [4] of { mtype, byte };
chan replies = [4] of { mtype, byte, bool };

/* The client. */
byte newest;                         /* attempt: what is older is taken over */
byte holding;
byte refused;
byte lost;                           /* as `lock.lost` has it */
byte reports[ROUNDS + 1];
byte owed;                           /* the ledger: releases without an answer */
bool others;                         /* by the last answer others wait */
bool yields;                         /* for a moment, in which the other client gets the lock */
bool over;                           /* closed: what still comes is not read */

proctype Alice() {
  do
  :: newest < ROUNDS ->
#ifndef NEWCOMERS_DO_NOT_WAIT_FOR_THE_ANSWER
     if
     :: others -> owed == 0          /* WaitRegistry::release_in_flight */
     :: else
     fi;
#endif
     !yields;
     atomic {                        /* Attempt::begin */
       newest++;
       line!attempt, newest
     }
     do
     :: atomic { holding == newest -> break }
     :: atomic { refused == newest && owner == NO_OWNER -> refused = 0; line!attempt, newest }
     od;
     yields = false;                 /* its moment is over */
     atomic {                        /* HoldRelease::defer, once it is written */
       assert(lost == 0);
       holding = 0;
       owed++;
       line!release, newest
     }
#ifdef A_WRITTEN_RELEASE_LEAVES_THE_LEDGER
     owed--
#endif
  :: newest == ROUNDS -> break
  od;
  owed == 0;                         /* close() */
  over = true
}

/* Whichever thread reads. */
proctype Reader() {
  byte it;
  bool beside;
end:
  do
  :: over -> break
  :: atomic {                        /* Attempt::granted */
       replies?granted, it, _ ->
#ifndef A_GRANT_LEAVES_AN_OLD_LOSS
       lost = 0;
#endif
       holding = it;
       it = 0
     }
  :: atomic { replies?held, it, _ -> refused = it; it = 0 }
  :: atomic {                        /* Releases::done, WaitRegistry::published */
       replies?done, it, beside ->
       others = beside;
       yields = beside && subscribed;
#ifndef A_WRITTEN_RELEASE_LEAVES_THE_LEDGER
       owed--;
#endif
       it = 0;
       beside = false
     }
  :: atomic {                        /* Releases::done, the hold lost */
       replies?nothing, it, _ ->
       reports[it]++;
       if
       :: it == newest -> lost = it
       :: else                       /* its owner has asked for the lock again */
       fi;
#ifndef A_WRITTEN_RELEASE_LEAVES_THE_LEDGER
       owed--;
#endif
       it = 0
     }
  od
}

proctype Server() {
  byte it;
end:
  do
  :: atomic {
       line?attempt, it ->
       if
       :: owner == OTHER -> replies!held, it, false
       :: else ->
          owner = ALICE;
          by = it;
          passed_by = (subscribed -> passed_by + 1 : 0);
          assert(passed_by <= 3);    /* at first, by the deletion, before an answer knows */
          replies!granted, it, false
       fi;
       it = 0
     }
  :: atomic {
       line?release, it ->
       if
       :: owner == ALICE && by == it ->
          owner = NO_OWNER;
          news = subscribed;
          replies!done, it, subscribed
       :: else -> replies!nothing, it, false
       fi;
       it = 0
     }
  od
}

proctype Hand() {                    /* DEL */
end:
  atomic { owner == ALICE -> deleted = by; owner = NO_OWNER; news = subscribed }
}

proctype Other() {
  byte turns;
end:
  do
  :: atomic { turns < TURNS -> turns++; subscribed = true; news = true; passed_by = 0 }
     do
     :: atomic {
          news ->
          news = false;
          if
          :: owner == NO_OWNER -> owner = OTHER; subscribed = false; yields = false; break
          :: else
          fi
        }
     od;
     owner = NO_OWNER
  od
}

init {
  byte hold;
  atomic { run Alice(); run Reader(); run Server(); run Hand(); run Other() };
  timeout ->
  assert(over && owner != ALICE);
  for (hold : 1 .. ROUNDS) { assert(reports[hold] == (hold == deleted)) }
}
