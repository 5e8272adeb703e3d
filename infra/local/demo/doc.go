// Package demo makes the whole path of Piloto work with no key set: it owns a
// demonstration service to act on, a demonstration model to talk to, and a
// demonstration agent to delegate to. All are plain http.Handlers that the
// one-process deployment serves on loopback.
//
// Service («Reservas») keeps rooms and reservations behind a hand-written
// OpenAPI 3.1 document. What must stay true: a request that carries an
// Idempotency-Key takes effect once; a request is in the ledger, on disk when
// a file is given, before it is answered; a restart loses neither; and of
// requests only the newest are remembered, so that no number of them fills the
// disk or the memory.
//
// The model speaks the OpenAI chat-completions protocol. It is a set of rules
// over the messages, the tools and the catalogue of its system prompt: it knows
// no service in advance, it is deterministic given a clock, and it says of
// itself that it is no language model. Asked for the decision of a router, it
// takes the agent whose words the message has most of.
//
// The agent («reserva») speaks the Model Context Protocol. It converses, by rules
// too, until it knows what to reserve, and reserves it when that was agreed to.
package demo
