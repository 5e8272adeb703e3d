// Package gateway converts between AWS Lambda and the rest of the code: API Gateway's
// HTTP events (payload format 2.0) become requests to a plain http.Handler, task
// invocations become plain functions, and the authorizer identifies the caller.
//
// Invariants:
//
//   - A request arrives as it was sent: percent-encoding, query and body are not
//     rewritten, and every path arrives, also an unusual one.
//   - The authorizer only identifies. It always lets the request through, with the
//     principal or the reason why there is none, and the handlers refuse by
//     default. So every refusal has the same form and a trace id, which API
//     Gateway's own refusals could not have.
//   - A cookie is accepted for a write only from the page's own origin.
//   - The address of a client is that of API Gateway or of the connection, and that of
//     a header only when a distribution with a secret sent the request (Edge).
//   - A principal comes from the authorizer's context only, never from a header.
package gateway
