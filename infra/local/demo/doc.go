// Package demo lets Piloto work without any key. It contains a demonstration service, a
// demonstration model and a demonstration agent. All are plain http.Handlers that the one-process
// deployment serves on loopback.
//
// Service («Reservas») keeps rooms and reservations behind a hand-written OpenAPI 3.1 document.
// Three rules hold. A request with an Idempotency-Key takes effect once. A request is in the ledger
// before it is answered, and on disk when a file is given, so that a restart loses neither. Only
// the newest requests are kept, so that requests fill neither the disk nor the memory.
//
// The model speaks the OpenAI chat-completions protocol. It is a set of rules over the messages,
// the tools and the catalogue of its system prompt. It knows no service in advance, it is
// deterministic for a given clock, and it says that it is no language model. When a router requests
// a decision, it takes the agent whose words occur most in the message.
//
// The agent («reserva») speaks the Model Context Protocol. It converses by rules too, until it has
// all details of a reservation, and reserves after a confirmation.
package demo
