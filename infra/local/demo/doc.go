// Package demo lets Piloto work without any key. It contains a demonstration service, a
// demonstration model and a demonstration agent. All are plain http.Handlers that the one-process
// deployment serves on loopback.
//
// Service («Reservas») keeps rooms and reservations behind a hand-written OpenAPI 3.1 document. A
// request with an Idempotency-Key takes effect once. A request is on disk before it is answered,
// when a file is given. Only the newest requests are kept.
//
// The model speaks the OpenAI chat-completions protocol, and says that it is no language model. A
// message gives a verb, nouns and values (dates, times, people, names, name=value). The verb and the
// nouns choose an operation of the catalogue in the system prompt, and the values fill its
// parameters: by their names, or by the roles that their names show. It asks for a required value
// that is missing, and never invents one. It knows no service in advance, except the names of the
// rooms above. When a router requests a decision, it takes the agent whose words occur most in the
// message. Words are in vocabulary.json, sentences in texts.json.
//
// The agent («reserva») speaks the Model Context Protocol. It converses by the same words until it
// has all details of a reservation, and reserves after a confirmation.
package demo
