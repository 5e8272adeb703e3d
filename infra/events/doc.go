// Package events owns one sample event for each function: what API Gateway, the
// state machine or EventBridge sends it. `sam local invoke ChatFunction -e
// infra/events/chat.json` uses them, and the tests here give each to the
// function's own bootstrap, so that what deploys is known to start and answer.
package events

import "embed"

// Samples holds FUNCTION.json of every function.
//
//go:embed *.json
var Samples embed.FS
