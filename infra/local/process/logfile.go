package process

import (
	"io"
	"os"
	"path/filepath"
	"sync"

	"gopkg.in/natefinch/lumberjack.v2"
)

// LogFile is the name of the log in a data folder.
const LogFile = "piloto.log"

// Of the log at most two files of so many megabytes are kept.
const logMegabytes = 10

// logFile is the log in a data folder. The folder is made by the first line, readable
// for its owner alone.
type logFile struct {
	folder string
	made   sync.Once
	err    error
	to     lumberjack.Logger
}

// NewLog returns the log of a data folder, and writes it to also as well when that is
// not nil. The newest ten megabytes are in piloto.log, those before in one more file.
func NewLog(folder string, also io.Writer) io.Writer {
	l := &logFile{folder: folder, to: lumberjack.Logger{Filename: filepath.Join(folder, LogFile), MaxSize: logMegabytes, MaxBackups: 1}}
	if also == nil {
		return l
	}
	return io.MultiWriter(also, l)
}

// Write implements io.Writer.
func (l *logFile) Write(p []byte) (int, error) {
	l.made.Do(func() { l.err = os.MkdirAll(l.folder, 0o700) })
	if l.err != nil {
		return 0, l.err
	}
	return l.to.Write(p)
}
