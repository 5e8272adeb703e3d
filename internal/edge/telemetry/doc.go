// Package telemetry owns what the program says about itself: JSON log lines, and
// the trace id that joins them to a request.
//
// What stays true: a line that belongs to a request carries its trace id and
// account; no line carries a secret, whichever attribute or message it stood in;
// every answer carries X-Trace-Id, also the one to a handler that panicked.
package telemetry
