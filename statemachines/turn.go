package statemachines

import "piloto/internal/ground/ids"

import _ "embed"

// TurnDefinition is turn.asl.json before substitution: ${TurnFunctionArn} stands for the function
// of its tasks. It answers a turn that outlives its request; the request is stored in the table.
//
//go:embed turn.asl.json
var TurnDefinition []byte

// TurnFunctionArn is the substitution of TurnDefinition.
const TurnFunctionArn = "TurnFunctionArn"

// TurnInput is the input of a turn's execution, and of its tasks. The execution's name is TurnID.
type TurnInput struct {
	TurnID    string      `json:"turn_id"`
	AccountID ids.Account `json:"account_id"`
	GiveUp    bool        `json:"give_up,omitempty"` // the turn could not be answered: end it with a failure message
}
