// Package stepfunctions is an embedded AWS Step Functions engine for a
// one-machine deployment: Standard workflows in the JSONPath mode of Amazon
// States Language, behind the AWS JSON 1.0 protocol, so that the production
// SDK client works unchanged.
//
// It stores definitions, executions, their history and their task tokens, all in
// one top-level bucket of the store ("stepfunctions").
//
// These rules hold:
//
//   - Every transition (its history events and its changed threads) is one
//     store.Update, and no effect of it (a task, a timer, a response) happens
//     before that update is durable. Consecutive states without outside effects
//     are one transition. WithAsyncJournal weakens this for tasks and timers.
//   - One goroutine at a time runs an execution, and none while it waits: a
//     waiting execution costs memory and a timer, a finished one costs nothing.
//   - Deadlines are absolute and stored; after a restart a wait, a time-out or
//     a retry ends at its original time.
//   - A task that was scheduled and has no recorded result is dispatched again
//     after a restart, with the same payload. A task with a recorded result is
//     never dispatched again.
//   - Status changes are written with their transition and delivered at least
//     once, in order for one execution except for repeated deliveries.
//   - An unsupported feature is refused when the definition is loaded, with the
//     JSON pointer of the field; nothing is ignored.
//
// # Where the documentation of AWS is open
//
// Event ids, order and previous ids follow recorded histories of the service.
// Events of concurrent threads are in the order of their arrival here.
//
//   - A task's Started event is written together with its Scheduled event, and
//     its time-out runs from there, also while it waits for a free place. A
//     heartbeat counts from the answer of the function that received the token.
//   - A function called as an event (InvocationType Event) through an Invoker
//     without events runs beside the execution and is not called again after a restart.
//   - A path of Parameters, ResultSelector or ItemSelector that selects nothing is
//     States.Runtime, which no wildcard catches, as the service reports it; the
//     name in its documentation, States.ParameterPathFailure, can be caught by
//     name. The same holds for a path among the arguments of an intrinsic function,
//     which documentation calls States.IntrinsicFailure. Only an index past the end,
//     where the path is the whole value of a field, gives null. States.Runtime ends
//     the execution where it happens: no branch, item or state around it is reported
//     as failed or aborted, unless it is caught. Likewise a missed heartbeat is
//     States.Timeout, and States.HeartbeatTimeout for a Retry or Catch that uses
//     that name.
//   - A failed branch is reported, and passed on by Catch, under the name of the
//     inner error; States.BranchFailed, the documented name, can be caught by name.
//   - A task's result that is too large is States.DataLimitExceeded and can be
//     caught (also by States.ALL, as recorded); a state's output that is too large
//     ends the execution.
//   - At most 40 items of a Map state run at once, the bound of inline maps.
//   - Names and histories are kept for 90 days after the end. Deleting a state
//     machine aborts its executions at once. Nothing can be redriven.
//   - Activities, versions, aliases, TestState, Express workflows, JSONata,
//     variables (Assign) and distributed maps are refused.
package stepfunctions
