// Package httpapi owns the HTTP contract: routes, JSON shapes, and how a failure
// is told. It is the only package that turns a fault into a status and a problem
// (RFC 9457), and the only one that reads JSON from a client.
//
// Every function of the deployment gets its own http.Handler (AI, Chat,
// Confirm, Registry, Records), and all of them are registered by the same code that makes
// the OpenAPI document and the list of routes, so the three cannot differ.
//
// What stays true, for every route:
//
//   - The order is: route, principal, scope, how often they ask, body, validation, domain. A request
//     that is refused at one of these reached none of the later ones.
//   - Without a principal nothing but /health answers; with one, an id that is
//     not an id answers as a missing one does.
//   - A body is bounded, is one JSON value in UTF-8, and no object in it has two
//     members whose names differ at most by case. All that is wrong with it is
//     said in one answer, by place and type; values are never repeated.
//   - A person is told a localised sentence and what to do; the cause goes to the
//     log, with the trace id that the answer carries.
package httpapi
