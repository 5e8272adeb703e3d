// Command bench measures chat turns and confirmed runs of the one-process
// deployment beside a floor: what any program would have to do for the same
// promise on the same machine.
//
//	go run ./infra/bench [-quick] [-json] [-only REGEXP] [-cpuprofile FILE] [-dir FOLDER]
//
// # What is measured
//
// The system is infra/local/process, whole, over loopback TCP: its handlers, its
// SDK clients, its engines, its disk. Around it, in the same process, stand a
// client with kept connections, a model that speaks the chat-completions
// protocol and answers at once from a script, an echo service with an OpenAPI
// document, and an agent that speaks the Model Context Protocol. A turn is one POST /api/send, in a chat of at most ten
// turns. A run is timed from the POST that confirms it until a GET of its chat
// says that it is done; proposing it is not timed.
//
// That a run is done is learned late rather than by disturbing it: the echo
// service tells when the run's last call has been answered, and only then is
// the chat read (two items of the table), after 0.4 ms or 1/25 of the time so
// far, whichever is longer, until it says so. What this adds counts against the system.
//
// # The floor
//
// The floor is a handler of a few lines behind the same kind of server and
// client. It makes the same POSTs, with the very bytes that the system sent to
// the model and to the service, over kept connections; and it appends 1 KiB to a
// file on the same file system, with fdatasync, as often as there are writes
// that must reach the disk one after another:
//
//	turn          2      what was said, before the model is asked; what came of it
//	run of k    2k + 2   confirmed; before and after each call; finished
//	routed      0        it is a bare proxy: the POSTs to the model and to the agent
//
// It parses nothing, checks nothing and answers with one constant. Waves of
// steps are called side by side. Its writers share an fdatasync exactly as those
// of infra/localaws/disk share a commit: the first to find nobody leading writes
// everything that waits with one write and one fdatasync, at once; whoever comes
// meanwhile shares the next.
//
// The second floor, "equal", makes as many writes one after another as the
// system was counted to make when it was alone: the distance to it is what is
// not fsync. Under load the second floor is "apart": the least writes, each with
// an fdatasync of its own instead of one for all that wait. The system's commits
// are counted from outside, by the transaction number in its data file; bbolt
// pays two fdatasyncs for each, which no floor does.
//
// # How
//
// At concurrency 1 the system and the floors alternate operation by operation
// (A B C A B C), and at a higher one slice of time by slice of time, so that
// noise of the machine hits them alike. Ratios are of medians, and of
// throughputs over all slices. A slice of the system is a fixed number of
// operations, with the tail in which not all clients are busy any more; one of a
// floor lasts as long as it did. Every run is looked at when it has ended: one
// that is not done, or a service that was called another number of times than
// the plan has steps, fails the benchmark.
//
// # Cold starts and sizes
//
//	go run ./infra/bench -cold [-starts N] [-only REGEXP] [-json]
//	go run ./infra/bench -size build
//
// -cold builds the executable of every function for this machine, and one that does
// nothing but read an item with the same SDK clients (folder hello), and starts the
// two by turns behind a Runtime API, against engines on loopback. "asks" is from exec
// until the first event is asked for, "answers" until it is answered: the function's
// of infra/events, whose account is not there. Reading these events costs a function
// more calls of the table than hello's one, which counts against it. -size fails when
// an executable that `make build` made is over the limit.
//
// With -cpuprofile the floors are left out, so that the profile is of the
// system (and of its clients, its model and its service).
package main
