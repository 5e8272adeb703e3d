// Package redact removes secrets from texts: known secrets (Known), and secrets that their name or their form
// reveals (Text, and Lines for files).
//
// Three invariants hold. All redaction of this program is done here. A text is scanned a limited number of times,
// and each of its characters a limited number of times. Redacting twice gives the same as redacting once. When a
// rule is not sure, it keeps the text, because an empty log line helps no reader.
package redact
