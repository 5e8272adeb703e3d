// Package demo makes the whole path of Piloto work with no key set: it owns a
// demonstration service to act on and a demonstration model to talk to. Both
// are plain http.Handlers that the one-process deployment serves on loopback.
//
// Service («Reservas») keeps rooms and reservations behind a hand-written
// OpenAPI 3.1 document. What must stay true: a request that carries an
// Idempotency-Key takes effect once; a request is in the ledger, on disk when
// a file is given, before it is answered; and a restart loses neither.
//
// The model speaks the OpenAI chat-completions protocol. It is a set of rules
// over the messages, the tools and the catalogue of its system prompt: it knows
// no service in advance, it is deterministic given a clock, and it says of
// itself that it is no language model.
package demo
