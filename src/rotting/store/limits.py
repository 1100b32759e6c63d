"""The sizes and times that bound the work of a store. Tests lower them to reach them sooner."""

BUSY_MS = 5_000  # SQLite waits this long for another connection before it reports that the file is locked
TAKE_OVER_MS = 500  # a new writer waits this long for readers before it starts with a WAL that is not empty
WAL_PAGES = 1_000  # the write-ahead log (WAL) is copied into the file after this many pages
WAL_BYTES = 2**30  # appends are refused when the WAL is larger, and a reader keeps it from being reset
CHECK_SECONDS = 1.0  # between two checks of the files: a check takes 10 us, an append 20 us
CHECK_BYTES = 2**22  # the files are also checked after this many bytes
READ_EVENTS = 1_000  # are read at once: no reader holds its view of the file for long, so that the WAL stays short
HELD_EVENTS = 1_000  # are held back at most with durability "memory"
SNAPSHOT_EVENTS = 20_000  # between two snapshots of a bandit: replaying them takes a quarter of a second
SNAPSHOT_BYTES = 400_000  # of a policy's state; with a larger one, there are more events between two snapshots
FEWEST_SNAPSHOTS = 5  # times as many events, however large the state is
SNAPSHOTS_KEPT = 2  # of each bandit
PIECE_BYTES = 2**16  # a snapshot is written in pieces of this size: appends do not wait long for their turn
PIECES = 16  # are written before the WAL is copied, and are removed in one statement
BACKUP_PAGES = 2_000  # are copied at once
