// Command bench measures chat turns and confirmed runs of the one-process deployment beside a floor: the work that
// any program would need for the same promise on the same machine.
//
//	go run ./infra/bench [-quick] [-json] [-only REGEXP] [-cpuprofile FILE] [-dir FOLDER]
//
// # Subjects
//
// The system is infra/local/process, complete, over loopback TCP: its handlers, its SDK clients, its engines, its
// disk. The same process also contains a client with kept connections, a model that speaks the chat-completions
// protocol and answers at once from a script, an echo service with an OpenAPI document, and an agent that speaks
// the Model Context Protocol. A turn is one POST /api/send, in a chat of at most ten turns. A run is timed from the
// POST that confirms it until a GET of its chat reports that it is done; proposing it is not timed.
//
// The end of a run is noticed late, so that polling does not disturb the run: the echo service notifies the client
// when it answered the run's last call. Only then the chat is read (two items of the table), again and again after
// 0.4 ms or 1/25 of the time so far, whichever is longer. This delay counts against the system.
//
// # The floor
//
// The floor is a handler of a few lines behind the same kind of server and client. It makes the same POSTs, with
// the exact bytes that the system sent to the model and to the service, over kept connections. It also appends 1
// KiB to a file on the same file system, with fdatasync, once for each write that must reach the disk after
// another:
//
//	turn          2      the message, before the model is called; the result
//	run of k    2k + 2   confirmed; before and after each call; finished
//	routed      0        it is a bare proxy: the POSTs to the model and to the agent
//	job of k    3k + 1   started; each round as asked, as answered and as done. The job ends with the last one
//
// It parses nothing, checks nothing and answers with one constant. Waves of steps are called side by side. Its
// writers share an fdatasync exactly as those of infra/localaws/disk share a commit: the first writer without a
// leader becomes the leader, and writes everything that waits with one write and one fdatasync, at once. Writers
// that come meanwhile share the next one.
//
// The second floor, "equal", makes as many writes one after another as were counted for the system when it was
// alone: the remaining distance is not caused by fsync. Under load the second floor is "apart": the least writes,
// each with its own fdatasync. The system's commits are counted from outside, by the number of the newest commit
// in its log. Each takes one fdatasync, as a write of the floors.
//
// # Method
//
// At concurrency 1 the system and the floors alternate operation by operation (A B C A B C), and at a higher one
// slice of time by slice of time, so that noise of the machine affects them alike. Ratios are of medians, and of
// throughputs over all slices. A slice of the system is a fixed number of operations, including the tail in which
// not all clients are busy. A slice of a floor lasts as long. Every run is checked after its end: a run that is not
// done, or a number of calls of the service that differs from the plan's steps, fails the benchmark.
//
// # Looks and jobs
//
// The added time of a read is the time of a turn that looks minus that of the same turn whose look is refused before it is
// sent: both call the model twice. The two and the bare GET of the same service, over a kept connection, alternate;
// the median of the differences is compared with the median of the GET. A job is timed from the POST that starts it
// until a GET says that it is done; it is read only after the model gave the last answer, as the end of a run. Its
// agent looks once in each round but the last. A job of one round is the start and the end of a job, mostly; the aim is
// for a round of a longer one.
//
// # Cold starts and sizes
//
//	go run ./infra/bench -cold [-starts N] [-only REGEXP] [-json]
//	go run ./infra/bench -size build
//
// -cold builds the executable of every function for this machine, and one that only reads an item with the same SDK
// clients (folder hello). It starts the two alternately behind a Runtime API, against engines on loopback. "asks"
// is the time from exec until the first event is requested, "answers" until it is answered. The event is the
// function's sample in infra/events, whose account does not exist. Such an event costs a function more requests to
// the table than hello's one, which counts against the function. -size fails when an executable that `make build`
// built is over the limit.
//
// # Cost
//
//	go run ./infra/bench -cost [-only REGEXP]
//
// -cost executes each operation over the embedded engines, which count units as DynamoDB does. Every item is below 1 KB,
// and a transaction doubles its unit; an index takes more. A run of five steps in one invocation writes
//
//	confirm                                     event, run, message, chat          8 + 5 of an index
//	begin, and the intent of step 1             event, run, state, messages        8
//	4 × a result, and the intent of the next    event, run, two states, messages  40
//	the last result, and the end                event, run, state, messages, chat 10 + 2
//	place in the chain, and signature           link, run                          4 + 1
//
// A turn in text makes four reads (the token, the chat, its messages, the version of what the account has set) and four
// writes. Who waits for a run reads only its row. Each process reads the connections of an account once in two seconds.
//
// # Growth
//
//	go run ./infra/bench -growth [-smaller N] [-only REGEXP] [-quick] [-json]
//
// -growth fills a small and a grown deployment, each in a process of its own, and does the same operations in both
// alternately: with more messages, chats, operations, larger results and a larger data file. Times are medians. CPU,
// allocations and written pages are those of the deployment's process; they include what follows an operation at once.
// Units and the bytes of prompts are counted afterwards, over the same folders. -smaller divides what is grown.
//
// # Registering a large document
//
//	go run ./infra/bench -register generated [-starts N] [-json] [-cpuprofile FILE]
//
// -register registers an OpenAPI document of 13 MB with 1,223 operations, which has the shape of GitHub's, or the one
// in the named file. CPU, allocations and peak memory are those of the whole process: they include the client, the
// server of the document, and the engines.
//
// With -cpuprofile the floors are left out, so that the profile covers only the system with its clients, its model
// and its service.
package main
