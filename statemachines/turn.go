package statemachines

import _ "embed"

// TurnDefinition is turn.asl.json before substitution: ${TurnFunctionArn} stands for the
// function of its tasks. It answers one turn apart from the request that brought it, which is
// in the table.
//
//go:embed turn.asl.json
var TurnDefinition []byte

// TurnFunctionArn is the substitution of TurnDefinition.
const TurnFunctionArn = "TurnFunctionArn"

// TurnInput is what an execution of a turn starts with, and the input of its tasks. The
// execution's name is TurnID.
type TurnInput struct {
	TurnID    string `json:"turn_id"`
	AccountID string `json:"account_id"`
	GiveUp    bool   `json:"give_up,omitempty"` // it could not be answered: say so
}
