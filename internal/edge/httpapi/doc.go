// Package httpapi implements the HTTP contract: routes, JSON shapes, and error
// responses. No other package converts a fault into a status and a problem
// (RFC 9457), or decodes JSON of a client.
//
// Every function of the deployment has its own http.Handler (AI, Chat, Confirm,
// Registry, Records). The same code registers all of them and generates the OpenAPI
// document and the list of routes, so the three cannot differ.
//
// Invariants of every route:
//
//   - The order of the checks is: route, principal, scope, rate, body, validation,
//     domain. A request that one of them refuses does not reach the next one.
//   - Without a principal only /health answers. With one, an invalid id gets the same
//     answer as a missing one.
//   - A body is limited in size, is one JSON value in UTF-8, and no object in it has
//     two members whose names differ at most by case. One response names all faults,
//     by place and type; it never repeats values.
//   - A person gets a localised message and the next step. The cause goes to the log,
//     with the trace id of the response.
package httpapi
