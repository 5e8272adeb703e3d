package client

import (
	"cmp"
	"os"
	"strings"
	"time"
)

// Zone returns the name of this machine's time zone, as Europe/Madrid; "" when it is not known.
func Zone() string {
	link, _ := os.Readlink("/etc/localtime") // none, or no link: not known
	return zoneOf(os.Getenv("TZ"), link)
}

// zoneOf returns the zone that TZ names, else the one whose file /etc/localtime is.
func zoneOf(set, link string) string {
	_, named, _ := strings.Cut(link, "zoneinfo/")
	name := cmp.Or(strings.TrimPrefix(set, ":"), named)
	if zone, err := time.LoadLocation(name); name == "" || err != nil || zone == time.Local {
		return ""
	}
	return name
}
