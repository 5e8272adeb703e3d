package s3

import (
	"encoding/xml"
	"fmt"
	"net/http"
)

// failure is an error of S3.
type failure struct {
	XMLName   xml.Name `xml:"Error"`
	Code      string
	Message   string
	Bucket    string `xml:"BucketName,omitempty"`
	Key       string `xml:",omitempty"`
	Version   string `xml:"VersionId,omitempty"`
	Condition string `xml:",omitempty"`
	Argument  string `xml:"ArgumentName,omitempty"`
	Header    string `xml:",omitempty"`
	RequestID string `xml:"RequestId"`

	status int
	header http.Header // of the response
}

func (f *failure) Error() string { return f.Code + ": " + f.Message }

func refuse(status int, code, format string, args ...any) *failure {
	return &failure{status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

func notImplemented(what string) *failure {
	f := refuse(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented")
	f.Header = what
	return f
}

func invalidArgument(name, message string) *failure {
	f := refuse(http.StatusBadRequest, "InvalidArgument", "%s", message)
	f.Argument = name
	return f
}

func noSuchBucket(name string) *failure {
	f := refuse(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	f.Bucket = name
	return f
}

func noSuchKey(key string) *failure {
	f := refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	f.Key = key
	return f
}

func noSuchVersion(key, id string) *failure {
	f := refuse(http.StatusNotFound, "NoSuchVersion", "The specified version does not exist.")
	f.Key, f.Version = key, id
	return f
}

func preconditionFailed(condition string) *failure {
	f := refuse(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	f.Condition = condition
	return f
}

func badDigest(what string) *failure {
	return refuse(http.StatusBadRequest, "BadDigest", "The %s you specified did not match the calculated checksum.", what)
}

// malformed is the refusal of a body that this engine does not understand.
func malformed() *failure {
	return refuse(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
}
