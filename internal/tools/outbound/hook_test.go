package outbound

import (
	"fmt"
	"testing"
)

func TestACutAnswerToAHookHasNoBody(t *testing.T) {
	for length, whole := range map[int]bool{2: true, 900: false} {
		r := serveRaw(t, say(fmt.Sprintf("HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{}", length)))
		status, answered, said, err := NewHooks(Options{AllowLoopback: true}).Post(t.Context(), r.url, nil, []byte("{}"))
		if err != nil || status != 410 || answered("Content-Type") != "application/json" || whole != (said != nil) || whole && string(said) != "{}" {
			t.Errorf("%d bytes: %d %q, %v", length, status, said, err)
		}
	}
}
