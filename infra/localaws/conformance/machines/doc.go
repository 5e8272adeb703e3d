// Package machines contains the cases that test a Step Functions engine: each is a state machine
// with its input, its functions, and the expected result (status, output, error, cause, calls,
// timing, history). It also runs them: the engine's own tests do so in one process and virtual
// time; a Suite does so against any endpoint, through the production SDK, with a Lambda API of its
// own.
//
// One rule holds: a case is the same for every subject. Known lists the known differences of a
// subject with their reasons.
//
// # Form
//
// cases/TOPIC.json is a list of cases. In definitions and inputs a string that begins with
// "lambda:NAME" stands for the ARN of a function of this case, and "name:NAME" for its bare name.
package machines
