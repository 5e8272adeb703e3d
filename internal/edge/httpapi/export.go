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
	"piloto/internal/conversation/wire"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/locale"
)

// mostExported bounds an export, in bytes: a function's answer has at most 6 MB.
const (
	mostExported = 4 << 20
	exportPage   = 100 // messages that are read at once
)

// export adds the route that gives a whole chat as a file.
func (a *api) export(s chatRecords) {
	op := operation{
		method: http.MethodGet, path: "/api/chats/{id}/export", id: "exportChat", access: withChat,
		summary: "The chat and its messages as one file, JSON or Markdown", failures: []int{404, 422},
	}
	op.describe = describeExport
	register(a, op, s.exportChat)
}

// describeExport names the media types of an export.
func describeExport(h huma.API, op *huma.Operation) {
	content := op.Responses["200"].Content
	content["application/json"] = &huma.MediaType{Schema: schemaOf[ChatExport](h)}
	content["text/markdown"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	content["application/pdf"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
}

// ChatExport is a chat with its messages in ascending order.
type ChatExport struct {
	Chat      conversation.Chat `json:"chat"`
	Messages  []wire.Message    `json:"messages" nullable:"false"`
	Truncated bool              `json:"truncated,omitempty" doc:"older messages are left out: the newest 4 MB are there"`
}

// exportReply is an export as a file.
type exportReply struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Policy      string `header:"Content-Security-Policy"`
	Body        any
}

// ExportFormat is how an export is written.
type ExportFormat struct {
	Format string `query:"format" enum:"json,md,pdf" doc:"json when absent"`
	Zone   string `query:"tz" maxLength:"64" doc:"of the times in md and pdf, as Europe/Madrid; UTC when absent"`
}

// location returns the zone of the reader.
func (f ExportFormat) location() (*time.Location, error) {
	zone, err := time.LoadLocation(f.Zone)
	if err != nil || zone == time.Local {
		return nil, errInvalid.At(field("time_zone", "query", "tz"))
	}
	return zone, nil
}

// wrongZone returns the fault of a time zone in a body that is not known; nil for one that is, and for none.
func wrongZone(name string) []error {
	if _, err := (ExportFormat{Zone: name}).location(); err != nil {
		return []error{errInvalid.At(field("time_zone", "body", "time_zone"))}
	}
	return nil
}

func (s chatRecords) exportChat(ctx context.Context, in *struct {
	ID string `path:"id"`
	ExportFormat
},
) (*exportReply, error) {
	return s.exported(ctx, in.ID, in.ExportFormat)
}

// exported returns a chat as a file.
func (s chatRecords) exported(ctx context.Context, chatID string, as ExportFormat) (*exportReply, error) {
	if !ids.Valid(chatID) {
		return nil, conversation.ErrChatNotFound
	}
	zone, err := as.location()
	if err != nil {
		return nil, err
	}
	account := caller(ctx).Account
	chat, err := s.chats.Chat(ctx, account, chatID)
	if err != nil {
		return nil, err
	}
	all := ChatExport{Chat: chat, Messages: []wire.Message{}}
	for cursor, size := "", 0; ; {
		page, next, err := s.chats.Messages(ctx, conversation.Key{Account: account, ChatID: chatID}, cursor, exportPage)
		if err != nil {
			return nil, err
		}
		keep := len(page)
		for keep > 0 && size < mostExported {
			raw, err := json.Marshal(wire.Message(page[keep-1]))
			if err != nil {
				return nil, err
			}
			if size += len(raw); size <= mostExported {
				keep--
			}
		}
		all.Messages = append(wire.Messages(page[keep:]), all.Messages...)
		if all.Truncated = keep > 0 || next != "" && size >= mostExported; next == "" || all.Truncated {
			break
		}
		cursor = next
	}
	out := &exportReply{Disposition: fmt.Sprintf(`attachment; filename="piloto-%s.`, chatID), Policy: inertPolicy}
	tag := requestInfoFrom(ctx).lang
	switch as.Format {
	case "md":
		out.ContentType, out.Body = "text/markdown; charset=utf-8", all.markdown(tag, zone)
		out.Disposition += `md"`
	case "pdf":
		out.ContentType = "application/pdf"
		out.Disposition += `pdf"`
		out.Body, err = s.print(all.paper(tag, zone, s.config.Now()))
	default:
		out.ContentType, out.Body = "application/json", all
		out.Disposition += `json"`
	}
	return out, err
}

// title returns the title of the chat in one line.
func (e ChatExport) title() string {
	if title := clip.Line(e.Chat.Title); title != "" {
		return title
	}
	return e.Chat.ID
}

// markdown writes the export for people: each message under its author and time, with the reads for it. A message that
// another one replaced is left out. No viewer runs or loads anything of it (inert).
func (e ChatExport) markdown(tag locale.Tag, zone *time.Location) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", inertLines(e.title()))
	if e.Truncated {
		fmt.Fprintf(&b, "\n_%s_\n", locale.Text(tag, "run.export.truncated"))
	}
	for _, m := range wire.Read(e.Messages) {
		if m.ReplacedBy != "" {
			continue
		}
		fmt.Fprintf(&b, "\n---\n\n**%s** · %s\n", locale.Text(tag, "run.export."+string(m.Role)), clock(m.At, zone))
		above, below := m.SplitNotes()
		for _, n := range above {
			fmt.Fprintf(&b, "\n> ⚠️ **%s**\n", inertLines(n.Warning().In(tag)))
		}
		fmt.Fprintf(&b, "\n%s\n", inert(strings.TrimSpace(m.Content)))
		if m.Action != "" {
			fmt.Fprintf(&b, "\n_%s_\n", inertLines(clip.Line(m.Action)))
		}
		for _, n := range below {
			fmt.Fprintf(&b, "\n_%s_\n", inertLines(clip.Line(n.Text)))
		}
		if f := m.Feedback; f != nil {
			fmt.Fprintf(&b, "\n%s\n", inertLines(rated(*f, tag)))
		}
		for _, s := range m.Sources {
			fmt.Fprintf(&b, "\n- %s: %s (%d)", inertLines(clip.Line(s.Service)), inertLines("`"+strings.ReplaceAll(clip.Line(s.Called()), "`", "'")+"`"), s.Status)
		}
		if len(m.Sources) > 0 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// clock returns a time as a file shows it.
func clock(at time.Time, zone *time.Location) string {
	return at.In(zone).Format(time.DateTime + " MST")
}

// rated returns a feedback in one line.
func rated(f conversation.Feedback, tag locale.Tag) string {
	return strings.TrimSpace(locale.Text(tag, "run.export.rated_"+string(f.Rating)) + " " + clip.Line(f.Note))
}
