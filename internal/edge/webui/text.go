package webui

import (
	"io"
	"net/http"
	"strings"

	"piloto/internal/ground/fault"
)

// textRoute renders a text, and changes nothing: it has a body because an address is too short for one.
const textRoute = "POST /ui/text"

var errUnread = fault.New(fault.Malformed, "request.unreadable") // too long, or it ended early

// textFragment renders the complete blocks of an answer that is still being written, as its message will be rendered.
// The text is UTF-8 of at most 64 KB. Nothing is stored or cached, because the next request has a longer one.
func (p printer) textFragment(w http.ResponseWriter, v visit) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, v.req.Body, maxMarkdown))
	if err != nil {
		return errUnread.Because(err)
	}
	p.write(w, v, http.StatusOK, "text", renderMarkdown(strings.ToValidUTF8(string(raw), "\uFFFD")))
	return nil
}
