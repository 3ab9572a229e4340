"""What everything else stands on: the registry of classes, the format of model files, and the writing of files."""
