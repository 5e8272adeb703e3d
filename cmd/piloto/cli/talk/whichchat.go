package talk

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
	"piloto/internal/conversation"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/meaning"
)

// conversationFlags choose a chat.
type conversationFlags struct {
	chat, agent, project string
	title                string
	wait                 bool
}

func (f *conversationFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.chat, "chat", "", "`id` of a chat to go on with, or last: the one that changed last; a new one when absent")
	cmd.Flags().StringVarP(&f.agent, "agent", "a", "", "`name` of the agent that answers a new chat")
	cmd.Flags().StringVar(&f.project, "project", "", "`id` of the project of a new chat")
}

// openChat returns the id of the chat that the flags name, or of a new one. No chat is made for an agent that is not there.
func (f *conversationFlags) openChat(ctx context.Context, c *client.Client) (string, error) {
	if f.chat != "" {
		return ChatOf(ctx, c, f.chat)
	}
	if f.agent != "" {
		if _, err := client.Get[json.RawMessage](ctx, c, client.Path("api", "agents", f.agent), nil); err != nil {
			return "", err
		}
	}
	made, err := client.Post[conversation.Chat](ctx, c, "/api/chats", httpapi.ChatRequest{Title: f.title, ProjectID: f.project})
	if err != nil || f.agent == "" {
		return made.ID, err
	}
	_, err = client.Send[conversation.Chat](ctx, c, client.Call{
		Method: http.MethodPatch, Path: client.Path("api", "chats", made.ID), Body: map[string]string{"agent": f.agent},
	})
	if err != nil {
		forgetRefused(ctx, c, made.ID, err)
	}
	return made.ID, err
}

// forgetRefused deletes a chat that was made for a request which was then refused, so that nothing of it is left. After any other
// error the request may have been done, and the chat stays.
func forgetRefused(ctx context.Context, c *client.Client, chat string, err error) {
	refused, ok := errors.AsType[*client.Problem](err)
	if !ok || errors.As(err, new(*client.DoubtError)) || ending.CodeOfProblem(refused) != ending.Usage && !meaning.Missing(refused.Status) {
		return
	}
	_, _ = c.Raw(ctx, client.Call{Method: http.MethodDelete, Path: client.Path("api", "chats", chat)}, "application/json")
}

// ChatOf returns the id of a chat that a flag names: its own, or that of the chat that changed last.
func ChatOf(ctx context.Context, c *client.Client, named string) (string, error) {
	if named != "last" {
		return named, nil
	}
	page, err := client.Get[httpapi.ChatList](ctx, c, "/api/chats", nil)
	if err != nil {
		return "", err
	}
	if len(page.Chats) == 0 {
		return "", ending.Miswritten(ending.Refusal("cli.wrong.no_chat"))
	}
	last := slices.MaxFunc(page.Chats, func(a, b conversation.Found) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	return last.ID, nil
}
