package auth

import (
	"net/url"
	"strings"
)

// Fields are the header of a request.
type Fields interface {
	Get(name string) string
	Values(name string) []string
}

// FromAnotherPage reports whether a browser says that the script or the frame of another
// page reads with the cookie: of another port of this host, for one, to which browsers
// send it along. Following a link is no reading.
func FromAnotherPage(h Fields, host string) bool {
	if len(h.Values("Origin")) > 0 {
		return !SameOrigin(h, host)
	}
	return isFromAnotherPage(h) && !isNavigation(h)
}

// ByLink reports whether a browser says that another page had it open an address as a page
// of its own: by a link, or by a script, which can do so without end.
func ByLink(h Fields) bool {
	return len(h.Values("Origin")) == 0 && isFromAnotherPage(h) && isNavigation(h)
}

// isFromAnotherPage reports whether a browser says that another page sent the request.
func isFromAnotherPage(h Fields) bool {
	site := strings.Join(h.Values("Sec-Fetch-Site"), ",")
	return site != "" && site != "same-origin" && site != "none"
}

// isNavigation reports whether a browser says that the answer becomes a page of its own.
func isNavigation(h Fields) bool {
	return h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document"
}

// SameOrigin reports whether a browser sent the request from a page of the host
// it went to. Every browser says so on a write: with Origin, with
// Sec-Fetch-Site, or both; what says neither is not the page. X-Forwarded-Host
// does not count, and X-Forwarded-Proto can only make the answer no.
func SameOrigin(h Fields, host string) bool {
	site := strings.Join(h.Values("Sec-Fetch-Site"), ",")
	if site != "" && site != "same-origin" {
		return false
	}
	origins := h.Values("Origin")
	if len(origins) == 0 {
		return site == "same-origin"
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if proto := h.Get("X-Forwarded-Proto"); proto != "" && proto != u.Scheme {
		return false
	}
	return host != "" && strings.EqualFold(hostOf(u.Host, u.Scheme), hostOf(host, u.Scheme))
}

// hostOf drops the scheme's own port, which some clients write and some do not.
func hostOf(host, scheme string) string {
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}
