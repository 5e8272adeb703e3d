package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// mostExported bounds an export, in bytes: a function's answer has at most 6 MB.
const (
	mostExported = 4 << 20
	exportPage   = 100 // messages that are read at once
)

// export adds the route that gives a whole chat as a file.
func (a *api) export(s records) {
	op := operation{
		method: http.MethodGet, path: "/api/chats/{id}/export", id: "exportChat", access: withChat,
		summary: "The chat and its messages as one file, JSON or Markdown", failures: []int{404, 422},
	}
	op.describe = describeExport
	register(a, op, s.exportChat)
}

// describeExport names what kinds of file there are.
func describeExport(h huma.API, op *huma.Operation) {
	content := op.Responses["200"].Content
	content["application/json"] = &huma.MediaType{Schema: schemaOf[ChatExport](h)}
	content["text/markdown"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
}

// ChatExport is a chat with its messages in ascending order.
type ChatExport struct {
	Chat      conversation.Chat      `json:"chat"`
	Messages  []conversation.Message `json:"messages" nullable:"false"`
	Truncated bool                   `json:"truncated,omitempty" doc:"older messages are left out: the newest 4 MB are there"`
}

// exportReply is an export as a file.
type exportReply struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        any
}

// ExportFormat is how an export is written.
type ExportFormat struct {
	Format string `query:"format" enum:"json,md" doc:"json when absent"`
}

func (s records) exportChat(ctx context.Context, in *struct {
	ID string `path:"id"`
	ExportFormat
},
) (*exportReply, error) {
	return s.exported(ctx, in.ID, in.ExportFormat)
}

// exported returns a chat as a file.
func (s records) exported(ctx context.Context, chatID string, as ExportFormat) (*exportReply, error) {
	if !ids.Valid(chatID) {
		return nil, conversation.ErrChatNotFound
	}
	account := caller(ctx).Account
	chat, err := s.store.Chat(ctx, account, chatID)
	if err != nil {
		return nil, err
	}
	all := ChatExport{Chat: chat, Messages: []conversation.Message{}}
	for cursor, size := "", 0; ; {
		page, next, err := s.store.Messages(ctx, account, chatID, cursor, exportPage)
		if err != nil {
			return nil, err
		}
		keep := len(page)
		for keep > 0 && size < mostExported {
			raw, err := json.Marshal(page[keep-1])
			if err != nil {
				return nil, err
			}
			if size += len(raw); size <= mostExported {
				keep--
			}
		}
		all.Messages = append(append([]conversation.Message{}, page[keep:]...), all.Messages...)
		if all.Truncated = keep > 0 || next != "" && size >= mostExported; next == "" || all.Truncated {
			break
		}
		cursor = next
	}
	name := fmt.Sprintf(`attachment; filename="piloto-%s.`, chatID)
	if as.Format != "md" {
		return &exportReply{ContentType: "application/json", Disposition: name + `json"`, Body: all}, nil
	}
	return &exportReply{ContentType: "text/markdown; charset=utf-8", Disposition: name + `md"`, Body: all.markdown(requestInfoFrom(ctx).lang)}, nil
}

// markdown writes the export for people: each message under its author and time, with what was read for it. A message that
// another one replaced is left out.
func (e ChatExport) markdown(tag locale.Tag) []byte {
	var b bytes.Buffer
	title := strings.Join(strings.Fields(e.Chat.Title), " ")
	if title == "" {
		title = e.Chat.ID
	}
	fmt.Fprintf(&b, "# %s\n", title)
	if e.Truncated {
		fmt.Fprintf(&b, "\n_%s_\n", locale.Text(tag, "run.export.truncated"))
	}
	for _, m := range e.Messages {
		if m.ReplacedBy != "" {
			continue
		}
		fmt.Fprintf(&b, "\n---\n\n**%s** · %s\n\n%s\n", locale.Text(tag, "run.export."+string(m.Role)), m.At.UTC().Format(time.DateTime+" UTC"), strings.TrimSpace(m.Content))
		if f := m.Feedback; f != nil {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(thumbs[f.Rating]+" "+strings.Join(strings.Fields(f.Note), " ")))
		}
		for _, s := range m.Sources {
			fmt.Fprintf(&b, "\n- %s: `%s` (%d)", s.Service, strings.ReplaceAll(s.Called(), "`", "'"), s.Status)
		}
		if len(m.Sources) > 0 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// thumbs are the ratings as they are shown.
var thumbs = map[conversation.Rating]string{conversation.Up: "👍", conversation.Down: "👎"}
