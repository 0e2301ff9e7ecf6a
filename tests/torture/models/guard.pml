/* The guard: it releases what a dead program held, also by an acquire that is still on its way, and
 * nothing else.
 *
 * A program acquires and releases a lock, and passes its last hold on by a ticket. It may die between
 * any two steps. Its connection keeps the order, and what it has written may arrive long after its
 * death, until 50 ms are over. Another owner gets the lock when it is free.
 */

#define NO_OWNER 0
#define PROGRAM  1
#define NEXT     2
#define TICKET   3                   /* the hold that was passed on */

mtype = { acquire, release, detach };

byte owner = NO_OWNER;               /* the server */
chan line = [3] of { mtype };

bool alive = true;                   /* the pidfd */
bool halted;
bool recorded;                       /* in the page */
bool cut;                            /* the guard has closed the program's connection */
bool over;                           /* the guard has done its work */
bool passed_on;

#define AWAIT(answer) if :: answer :: !alive -> goto end fi
#define STEP(what)    if :: atomic { alive -> what } :: !alive -> goto end fi

active proctype Program() {
  byte holds;

  do
  :: holds++;
#ifndef AN_ATTEMPT_IS_RECORDED_ONCE_IT_IS_GRANTED
     STEP(recorded = true);          /* Attempt::record */
#endif
     STEP(line!acquire);
     AWAIT(owner == PROGRAM);
     STEP(recorded = true);
     if                              /* SIGSTOP, for any time */
     :: STEP(halted = true); halted = false
     :: skip
     fi;
     if
     :: holds == 2 -> break
     :: holds < 2
     fi;
#ifdef A_RECORD_ENDS_BEFORE_ITS_RELEASE
     STEP(recorded = false);
#endif
     STEP(line!release);
     AWAIT(owner != PROGRAM);
     STEP(recorded = false)          /* Releases::done */
  od;
  STEP(line!detach);
  AWAIT(owner != PROGRAM);
  STEP(recorded = false);            /* Releases::end_detach */
end:
  skip
}

active proctype Death() {
  if
  :: alive = false
  :: skip
  fi
}

active proctype Server() {
  mtype command;
end:
  do
  :: atomic { !cut && nempty(line) -> line?command;
       if
       :: command == acquire && owner == NO_OWNER -> owner = PROGRAM
       :: command == release && owner == PROGRAM -> owner = NO_OWNER
       :: command == detach && owner == PROGRAM -> owner = TICKET; passed_on = true
       :: else
       fi }
  od
}

inline release_for_it() {
  atomic {
#ifdef A_RELEASE_DOES_NOT_LOOK_AT_THE_OWNER
    owner = NO_OWNER
#else
    if
    :: owner == PROGRAM -> owner = NO_OWNER
    :: else
    fi
#endif
  }
}

active proctype Guard() {
end:
#ifdef A_STOPPED_PROGRAM_COUNTS_AS_DEAD
  !alive || halted;
#else
  !alive;
#endif
  assert(!alive);
  if
  :: recorded ->
     if
     :: cut = true                   /* CLIENT KILL, where the rights allow it */
     :: skip
     fi;
     release_for_it();
#ifndef IT_RELEASES_ONCE
     cut || empty(line);             /* 50 ms */
     release_for_it()
#endif
  :: else
  fi;
  over = true
}

active proctype Next() {
end:
  atomic { owner == NO_OWNER && !alive -> owner = NEXT };
still:
  over;
  assert(owner == NEXT)
}

/* When all is over, a dead program holds nothing, and what it has passed on is held. */
active proctype Promises() {
end:
  over && (cut || empty(line));
  assert(owner != PROGRAM);
  assert(!passed_on || owner == TICKET)
}
