// Package machines owns the cases that hold a Step Functions engine to its word:
// a state machine each, with its input, the functions it calls, and what must
// come of it (status, output, error, cause, calls, timing, history). It also owns
// the ways to run them: the engine's own tests do so in one process and virtual
// time; a Suite does so against any endpoint, through the production SDK, with a
// Lambda API of its own.
//
// What stays true: a case is the same everywhere; nothing in it knows of the
// subject. Where a subject is known to differ, Known says so and why.
//
// # Form
//
// cases/TOPIC.json is a list of cases. In definitions and inputs a string that
// begins with "lambda:NAME" stands for the ARN of a function of this case, and
// "name:NAME" for its bare name.
package machines
