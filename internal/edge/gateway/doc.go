// Package gateway owns the edge between AWS Lambda and the rest: API Gateway's
// HTTP events (payload format 2.0) become requests to a plain http.Handler, task
// invocations become plain functions, and the authorizer says who is asking.
//
// What stays true:
//
//   - A request arrives as it was sent: percent-encoding, query and body are not
//     rewritten, and no path, however odd, fails to arrive.
//   - The authorizer identifies and never decides: it always lets the request
//     through, saying who it is or why it is nobody, and the handlers refuse by
//     default. So that every refusal has one form and a trace id, which API
//     Gateway's own could not have.
//   - A cookie counts for a write only from the page's own origin.
//   - Where a request comes from is what API Gateway, or the connection, says, and
//     never a header.
//   - A principal comes from the authorizer's context alone, never from a header.
package gateway
