package auth

import (
	"net/url"
	"strings"
)

// Fields reads the header of a request.
type Fields interface {
	Get(name string) string
	Values(name string) []string
}

// FromAnotherPage reports whether, by the browser's header fields, a script or a frame of
// another page sent the request with the cookie. Such a page can be on another port of this
// host, because browsers send the cookie to every port. A followed link does not count.
func FromAnotherPage(h Fields, host string) bool {
	if len(h.Values("Origin")) > 0 {
		return !SameOrigin(h, host)
	}
	return isFromAnotherPage(h) && !isNavigation(h)
}

// ByLink reports whether, by the browser's header fields, another page opened the address as a
// top-level page: by a link, or by a script, which can repeat it without end.
func ByLink(h Fields) bool {
	return len(h.Values("Origin")) == 0 && isFromAnotherPage(h) && isNavigation(h)
}

// isFromAnotherPage reports whether, by Sec-Fetch-Site, another page sent the request.
func isFromAnotherPage(h Fields) bool {
	site := strings.Join(h.Values("Sec-Fetch-Site"), ",")
	return site != "" && site != "same-origin" && site != "none"
}

// isNavigation reports whether, by the Sec-Fetch fields, the response becomes a top-level page.
func isNavigation(h Fields) bool {
	return h.Get("Sec-Fetch-Mode") == "navigate" && h.Get("Sec-Fetch-Dest") == "document"
}

// SameOrigin reports whether a browser sent the request from a page of the requested host. Every
// browser sends Origin, Sec-Fetch-Site or both with a write; a request without them does not
// come from the page. X-Forwarded-Host is ignored, and X-Forwarded-Proto can only make the
// result false.
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

// hostOf removes the default port of the scheme, because some clients write it and some do not.
func hostOf(host, scheme string) string {
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}
