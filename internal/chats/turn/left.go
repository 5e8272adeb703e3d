package turn

import (
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/eligibility"
)

// LeftNotice is the message in a chat whose answer nobody writes any more, because the process died that wrote it. It has no id
// and no time.
func LeftNotice(lang string) conversation.Message {
	tag := locale.Tag(lang)
	return conversation.Message{
		Role: conversation.RoleSystem, Kind: conversation.KindBlocked, Code: string(eligibility.InternalError),
		Content: "⚠️ " + locale.Text(tag, "turn.left"), Action: locale.Text(tag, "turn.left_do"),
	}
}
