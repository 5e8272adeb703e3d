package webui

import (
	"bytes"
	"encoding/base64"
	pictures "image"
	_ "image/gif"  // the formats that a browser shows
	_ "image/jpeg" // …
	_ "image/png"  // …
	"strings"
)

// Limits of an image that is shown. Of a larger one only the name and the size are shown.
const (
	largestImage = 200 << 10 // bytes
	widestImage  = 4096      // pixels, so that a small file does not become a large picture
)

// pictureURL returns the image that a data: URL holds, as picture does; "" for any other text.
func pictureURL(text string) string {
	if _, data, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(text, "data:image/") {
		return picture(data)
	}
	return ""
}

// picture returns an image as the address of its own bytes (data:), when the bytes are an image of a kind that browsers show;
// else "". Nothing is fetched for it, and its declared type is not believed.
func picture(data string) string {
	if len(data) > largestImage/3*4+4 {
		return ""
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
	if err != nil {
		return ""
	}
	size, format, err := pictures.DecodeConfig(bytes.NewReader(raw))
	if err != nil || size.Width > widestImage || size.Height > widestImage {
		return ""
	}
	return "data:image/" + format + ";base64," + base64.StdEncoding.EncodeToString(raw)
}
