// Package telemetry writes JSON log lines and metrics, and gives each request a trace
// id.
//
// Invariants: a line of a request has its trace id and account; no line contains a
// secret, in any attribute or message; every response has X-Trace-Id, also after a
// panic of the handler.
package telemetry
