// Package events holds one sample event for each function, as API Gateway, the state machine or EventBridge sends
// it. `sam local invoke ChatFunction -e infra/events/chat.json` uses them. The tests here send each to the
// function's own bootstrap, to check that the deployed executable starts and answers.
package events

import "embed"

// Samples holds FUNCTION.json of every function.
//
//go:embed *.json
var Samples embed.FS
