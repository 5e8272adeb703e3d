// Package provider owns the proof that a real provider can be pointed at: the
// whole deployment against an OpenAI-compatible server that is not ours. It
// needs Node.js and @copilotkit/aimock (`make provider` installs it outside the
// tree).
package provider
