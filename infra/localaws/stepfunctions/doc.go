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
//   - Status changes are written with the transition they tell of, and told at
//     least once, in order for one execution unless one had to be told again.
//   - What the engine does not support is refused when the definition is
//     loaded, with the JSON pointer of the offending field; nothing is ignored.
//
// # Where AWS leaves room
//
// Event ids, order and previous ids follow recorded histories of the service.
// Between threads that run at once, the order is that of arrival here.
//
//   - A task's Started event is written together with its Scheduled event, and
//     its time-out runs from there, also while it waits for a free place. A
//     heartbeat counts from when the function that was handed the token answered.
//   - A function called as an event (InvocationType Event) through an Invoker that
//     knows none runs beside the execution and is not called again after a restart.
//   - A path of Parameters, ResultSelector or ItemSelector that selects nothing is
//     States.Runtime, which nothing catches, as the service reports it; the name
//     its documentation gives, States.ParameterPathFailure, can be caught by
//     naming it. So is a path among the arguments of an intrinsic function, which
//     documentation calls States.IntrinsicFailure. Only an index past the end, where
//     the path is the whole value of a field, gives null. States.Runtime ends the
//     execution where it happens: no branch, item or state around it is reported as
//     failed or aborted, unless it is caught. Likewise a missed heartbeat is States.Timeout, and
//     States.HeartbeatTimeout to who asks for that.
//   - A failed branch is reported, and passed on by Catch, under the name of what
//     failed in it; States.BranchFailed, which documentation gives, can be named.
//   - A task's result that is too large is States.DataLimitExceeded and can be
//     caught (also by States.ALL, as recorded); a state's output that is too large
//     ends the execution.
//   - At most 40 items of a Map state run at once, the bound of inline maps.
//   - Names and histories are kept for 90 days after the end. Deleting a state
//     machine aborts its executions at once. Nothing can be redriven.
//   - Activities, versions, aliases, TestState, Express workflows, JSONata,
//     variables (Assign) and distributed maps are refused.
package stepfunctions
