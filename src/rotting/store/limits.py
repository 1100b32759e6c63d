"""The sizes and times that bound the work of a store. Tests lower them to reach them sooner."""

BUSY_MS = 5_000  # SQLite waits this long for another connection before it reports that the file is locked
TAKE_OVER_MS = 500  # a new writer waits this long for readers before it starts with a WAL that is not empty
WAL_PAGES = 1_000  # the write-ahead log (WAL) is copied into the file after this many pages
WAL_BYTES = 2**30  # appends are refused when the WAL is larger, and a reader keeps it from being reset
CHECK_SECONDS = 1.0  # between two checks of the files: a check takes 10 us, an append 20 us
CHECK_BYTES = 2**22  # the files are also checked after this many bytes
READ_EVENTS = 1_000  # a reader reads this many events at a time, so that it holds no view of the file for long
HELD_EVENTS = 1_000  # at most this many events are held back with durability "memory"
SNAPSHOT_EVENTS = 20_000  # between two snapshots of a bandit: replaying them takes a quarter of a second
SNAPSHOT_BYTES = 400_000  # with a larger state of the policy, there are more events between two snapshots
MAX_SNAPSHOT_FACTOR = 5  # a large state is saved at most this many times less often
SNAPSHOTS_KEPT = 2  # this many snapshots of each bandit are kept
PIECE_BYTES = 2**16  # a snapshot is written in pieces of this size: appends do not wait long for their turn
PIECES = 16  # this many pieces are written before the WAL is copied, and are removed in one statement
BACKUP_PAGES = 2_000  # a backup copies this many pages at once
