/* Renewal against release: nothing is renewed once its release has begun, an answer that comes late
 * harms no newer hold, and nothing is kept alive for ever.
 *
 * One owner takes the lock, releases it, and takes it again, or ends while it holds. Its commands
 * and the renewals have a connection each, so they pass each other on the way. The connection of
 * the renewals breaks once; what was unanswered goes out again.
 */

#define GRANTS 2
#define LEASE  2                     /* ticks of the server's clock */
#define NONE   0

/* The server: the key, with the owner's field in it, and what is left of its lease. */
bool exists;
byte left;
bool expired;                        /* by the clock, since the latest grant */

/* Keeper. Holds are known by their tickets. */
byte hold = NONE;                    /* the one that is held and renewed */
bool in_flight[GRANTS + 1];
bool abandoned[GRANTS + 1];

/* The connection of the renewals. */
chan requests = [GRANTS] of { byte };
chan replies = [GRANTS] of { byte, bool };
byte breaks = 1;

byte released;                       /* the newest hold whose release has begun */
bool over;

inline send(renewal) {
  assert(renewal > released);        /* nothing is renewed once its release has begun */
  requests!renewal
}

inline stop_renewing(it) {
  hold = NONE;
  abandoned[it] = true
}

proctype Owner() {
  byte ticket;
  do
  :: ticket < GRANTS ->
     atomic {                        /* acquire.lua */
       assert(!exists || expired);   /* the release has left nothing */
       exists = true;
       left = LEASE;
       expired = false
     }
     atomic { ticket++; hold = ticket }              /* Attempt::granted */
     if
     :: atomic {                     /* Releases::begin */
          released = ticket;
#ifndef RENEWED_UNTIL_THE_RELEASE_IS_ANSWERED
          if
          :: hold == ticket -> stop_renewing(ticket)
          :: else                    /* lost */
          fi
#endif
        }
        atomic { exists = false }    /* release.lua */
#ifdef RENEWED_UNTIL_THE_RELEASE_IS_ANSWERED
        atomic { stop_renewing(ticket) }    /* Releases::done */
#endif
     :: atomic {                     /* lease::owner_ended */
#ifndef AN_ENDED_OWNER_IS_RENEWED
          if
          :: hold == ticket -> stop_renewing(ticket)
          :: else
          fi
#endif
          break
        }
     fi
  :: ticket == GRANTS -> break
  od;
  over = true
}

proctype Watchdog() {
  byte asked;
  bool kept;
end:
  do
  :: atomic {                        /* Watchdog::step, with the lock */
       hold != NONE && !in_flight[hold] -> asked = hold; in_flight[asked] = true
     }
     atomic {                        /* RequestQueue::send, without it */
       if
       :: abandoned[asked] -> in_flight[asked] = false
       :: else -> send(asked)
       fi;
       asked = NONE
     }
  :: atomic {                        /* Watchdog::answered */
       replies?asked, kept ->
       in_flight[asked] = false;
       if
#ifdef AN_OLD_ANSWER_IS_TAKEN_FOR_A_NEW_HOLDS
       :: hold != NONE && !kept ->
#else
       :: hold == asked && !kept ->
#endif
          assert(!exists || expired);                /* it is lost indeed */
          stop_renewing(hold)
       :: else
       fi;
       asked = NONE;
       kept = false
     }
  :: atomic {                        /* StreamReader::stream_lost, and the new stream */
       breaks > 0 ->
       breaks--;
       do
       :: nempty(requests) -> requests?_
       :: nempty(replies) -> replies?_, _
       :: empty(requests) && empty(replies) -> break
       od;
       for (asked : 1 .. GRANTS) {
         if
#ifdef WHAT_IS_ABANDONED_GOES_OUT_AGAIN
         :: in_flight[asked] -> send(asked)
#else
         :: in_flight[asked] && abandoned[asked] -> in_flight[asked] = false
         :: in_flight[asked] && !abandoned[asked] -> send(asked)
#endif
         :: !in_flight[asked]
         fi
       }
       asked = NONE
     }
  od
}

proctype Server() {
  byte renewal;
end:
  do
  :: atomic {                        /* renew.lua */
       requests?renewal ->
#ifdef A_RENEWAL_DOES_NOT_LOOK
       exists = true;
#endif
       if
       :: exists -> left = LEASE
       :: else
       fi;
       replies!renewal, exists;
       renewal = NONE
     }
  od
}

proctype Clock() {
end:
  do
  :: atomic { exists && left > 1 -> left-- }
  :: atomic { exists && left == 1 -> left = 0; exists = false; expired = true }
  od
}

init {
  atomic { run Owner(); run Watchdog(); run Server(); run Clock() }
}

ltl everything_goes_in_the_end { <>[] (!exists) }
