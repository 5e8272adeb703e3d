// Package stepfunctions is the embedded AWS Step Functions engine of the
// one-machine deployment: Standard workflows in the JSONPath mode of Amazon
// States Language, behind the AWS JSON 1.0 protocol, so that the production
// SDK client works unchanged.
//
// It owns definitions, executions, their history and their task tokens, all in
// one top-level bucket of the store ("stepfunctions").
//
// What stays true:
//
//   - Every transition — its history events and the threads it moved — is one
//     store.Update, and nothing that follows from it (a task, a timer, an
//     answer) happens before that update is durable. Consecutive states that
//     touch nothing outside are one transition.
//   - An execution is moved by one goroutine at a time, and by none while it
//     waits: a waiting execution costs memory and a timer, a finished one
//     costs nothing.
//   - Deadlines are absolute and stored; after a restart a wait, a time-out or
//     a retry ends when it would have ended.
//   - A task that was scheduled and has no recorded result is dispatched again
//     after a restart, with the same payload. A recorded result is never asked
//     for again.
//   - What the engine does not support is refused when the definition is
//     loaded, with the JSON pointer of the offending field; nothing is ignored.
package stepfunctions
