def self.require(file)
  singleton_class.send(:remove_method, :require)
  $LOADED_FEATURES.delete(file)
  ARGV.each do |name|
    require name
  rescue LoadError
    # The program that requires it will see why.
  end
  program = ObjectSpace.each_object(File).find { |opened| opened.path == $0 }
  GC.start
  fork
  words = IO.for_fd(62, autoclose: false).sysread(1 << 18).split("\0", -1)
  arguments = words[3..words[0].to_i]
  ARGV.replace(arguments.each { |word| word.force_encoding(Encoding.default_external).freeze })
  program.reopen($0)
end
