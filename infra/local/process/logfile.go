package process

import (
	"io"
	"os"
	"path/filepath"
	"sync"

	"gopkg.in/natefinch/lumberjack.v2"
)

// LogFile is the name of the log file in a data folder.
const LogFile = "piloto.log"

// At most two log files of this size are kept.
const logMegabytes = 10

// logFile is the log of a data folder. The first line makes the folder, which only its owner can
// read.
type logFile struct {
	folder string
	made   sync.Once
	err    error
	to     lumberjack.Logger
}

// NewLog returns the log of a data folder. It also writes to also, unless that is nil. The newest
// ten megabytes are in piloto.log, and the previous ones in one more file.
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
