begin
  require ARGV.fetch(0)
rescue Exception => error
  abort "#{error.class}: #{error.message}"
end
