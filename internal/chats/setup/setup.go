// Package setup defines the settings of an account, as far as a turn needs them. A turn reads them as one value.
package setup

import (
	"piloto/internal/chats/agent"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// Of identifies the settings of an account that a turn reads.
type Of struct {
	Account   ids.Account
	ProjectID string // of the chat; "": it has none
	Routed    bool   // the router's settings are read, too
	Company   int64  // of the router's settings; 0: the account's own
	Agent     string // that the chat chose; "": none
}

// Setup is the settings of an account. Turns share it: nobody changes it.
type Setup struct {
	AI      eligibility.Settings
	Project conversation.Project // of the chat; a deleted project has only its ID, and allows no server
	Servers []tool.Server
	Rules   rule.Set
	Router  agent.Settings // in force for the company
	Loops   []agent.Change // of the account's agents, when the router's settings are read
	Agent   agent.Change   // of the agent that the chat chose
}
