/* The ledger of pending releases: nothing older goes behind a new attempt, and nothing is forgotten.
 *
 * Alice's thread attempts, releases, and leaves at any moment. The engine's loop handles the server's
 * answers, and repeats requests without a caller. Between two atomic steps of the one the other may do
 * anything. One connection keeps the order of its requests. Bob takes the lock when it is free. No
 * lease runs out, so a release that is forgotten leaves the lock held.
 */

#define ROUNDS   3                   /* attempts of Alice's */
#define REFUSALS 2                   /* the server refuses to work for the moment */
#define MOST     10                   /* releases, at most */

#define FREE   0
#define ALICE  1
#define BOB    2

mtype = { attempt, release, granted, held, refused, done };
mtype = { none, open, taken_over };

/* The server. */
byte owner = FREE;
byte by;                             /* the number of the attempt that Alice holds by */
byte refusals = REFUSALS;

/* The connection. */
chan line = [4] of { mtype, byte };
chan replies = [4] of { mtype, byte };

/* Holds: the release of the one entry. */
mtype entry = none;
byte turn;
byte carrier;
byte carriers;
bool revoked[MOST + 1];
byte turn_of[MOST + 1];
byte behind[MOST + 1];               /* the newest attempt when it was entered */
bool resting[MOST + 1];              /* its caller's timer runs */
bool late[MOST + 1];                 /* the loop's does */

/* Alice's operations. */
byte attempts;
bool asking;
bool took_over;
bool holding;
byte releasing;                      /* a caller waits for that release */
bool over;

inline enter(it) {                   /* Holds::open */
  carriers++;
  it = carriers;
#ifndef A_NEW_RELEASE_REVOKES_NOTHING
  revoked[carrier] = true;
#endif
  carrier = it;
  turn++;
  turn_of[it] = turn;
  behind[it] = attempts;
  entry = open
}

#ifdef A_SENDER_LOOKS_BEFORE_IT_SENDS
inline submit(it) {                  /* the look is over before the line is locked */
  if
  :: revoked[it]
  :: else -> line!release, it
  fi
}
#else
inline submit(it) {                  /* Connection::add */
  atomic {
    if
    :: revoked[it]
    :: else -> line!release, it
    fi
  }
}
#endif

inline leave(it) {                  /* Release::cancel */
  releasing = 0;
  if
#ifdef A_RELEASE_AT_REST_LEAVES_WITH_ITS_CALLER
  :: resting[it] -> resting[it] = false
#else
  :: resting[it] -> resting[it] = false; late[it] = true
#endif
  :: else                            /* its answer will come */
  fi
}

inline await(it) {                   /* Release */
  submit(it);
  do
  :: releasing != it -> break        /* answered */
  :: atomic { releasing == it && revoked[it] -> releasing = 0 }
  :: atomic { resting[it] -> resting[it] = false }
     submit(it)
  :: atomic { releasing == it -> leave(it) }
     break
  od
}

proctype Alice() {
  byte mine;
  do
  :: attempts < ROUNDS ->
     atomic {                        /* Attempt::begin */
       attempts++;
       asking = true;
       took_over = (entry != none);
       if
#ifndef AN_ATTEMPT_REVOKES_NOTHING
       :: entry != none -> revoked[carrier] = true; entry = taken_over; turn++
#else
       :: entry != none -> entry = taken_over; turn++
#endif
       :: else
       fi
     }
     line!attempt, attempts;
     if
     :: !asking                      /* answered */
     :: atomic {                     /* cancelled: Contended::conclude */
          asking ->
          asking = false;
          enter(mine)
        }
#ifndef A_CANCELLED_ATTEMPT_IS_NOT_TAKEN_BACK
        submit(mine)
#endif
     fi;
     if
     :: atomic {                     /* Releases::begin */
          holding ->
          holding = false;
          enter(mine);
          releasing = mine
        }
        await(mine);
        if
        :: atomic {                  /* its caller has left, and asks again */
             entry == open ->
             enter(mine);
             releasing = mine
           }
           await(mine)
        :: true
        fi
     :: !holding
     fi;
     mine = 0
  :: attempts == ROUNDS -> break
  od;
  over = true
}

proctype Loop() {
  mtype answer;
  byte it;
end:
  do
  :: atomic {                        /* Acquire::complete */
       replies?answer, it ->
       if
       :: (answer == granted || answer == held) && asking && it == attempts ->
          asking = false;
          holding = (answer == granted);
          if
          :: entry == taken_over -> entry = none
          :: else
          fi;
          it = 0
       :: answer == refused && it > MOST && asking && it - MOST == attempts ->
          asking = false;
          if
#ifndef AN_ATTEMPT_FORGETS_WHAT_IT_TOOK_OVER
          :: took_over -> enter(it)
          :: !took_over -> it = 0
#else
          :: it = 0
#endif
          fi
       :: answer == done ->          /* Releases::done, ended_late */
          if
#ifdef AN_OLD_ANSWER_SETTLES_A_NEW_RELEASE
          :: entry == open -> entry = none
#else
          :: entry == open && turn == turn_of[it] -> entry = none
#endif
          :: else
          fi;
          if
          :: releasing == it -> releasing = 0
          :: else
          fi;
          it = 0
       :: answer == refused && it <= MOST ->
          if
          :: releasing == it -> resting[it] = true
          :: releasing != it && entry == open && turn == turn_of[it] -> late[it] = true
          :: else
          fi;
          it = 0
       :: else -> it = 0
       fi
     }
     if
     :: it != 0 -> submit(it); it = 0
     :: else
     fi
  :: atomic {                        /* Release::time_is_up */
       late[carrier] -> late[carrier] = false; it = carrier
     }
     submit(it);
     it = 0
  :: atomic {                        /* a timer of one that was replaced */
       carrier > 1 && late[carrier - 1] -> late[carrier - 1] = false; it = carrier - 1
     }
     submit(it);
     it = 0
  od
}

proctype Server() {
  byte it;
end:
  do
  :: atomic {
       line?attempt, it ->
       if
       :: refusals > 0 -> refusals--; replies!refused, MOST + it
       :: owner != BOB -> owner = ALICE; by = it; replies!granted, it
       :: owner == BOB -> replies!held, it
       fi;
       it = 0
     }
  :: atomic {
       line?release, it ->
       if
       :: refusals > 0 -> refusals--; replies!refused, it
       :: true ->
          assert(owner != ALICE || behind[it] >= by);  /* it frees no newer hold */
          if
          :: owner == ALICE -> owner = FREE
          :: else
          fi;
          replies!done, it
       fi;
       it = 0
     }
  od
}

proctype Bob() {
end:
  atomic { owner == FREE -> owner = BOB };
  owner = FREE
}

init {
  atomic { run Alice(); run Loop(); run Server(); run Bob() };
  timeout ->                         /* nothing moves any more: whatever goes on for ever ends */
  assert(over && owner != ALICE)     /* nothing is forgotten */
}
